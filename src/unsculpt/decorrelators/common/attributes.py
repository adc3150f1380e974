"""Protected attributes as the inputs of a network, and what to do beyond the fitted range."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.outside import Outside, OutsideWarning, users_level
from unsculpt.devices import in_threads
from unsculpt.graph import Graph, Value
from unsculpt.inputs import (
    Floats,
    in_order_of,
    none_missing,
    not_constant,
    numbers,
    protected_columns,
)
from unsculpt.saving import Arrays, Json

# More categories than this need so many events each: what has none of its own is no category.
MANY, EACH = 100, 10


@dataclass(frozen=True)
class Continuous:
    """An attribute on a scale: a coordinate on [-1, 1] between its CDF and its range.

    Where the sample is dense the CDF spends the resolution; in a long tail the range keeps what
    depends on the attribute itself from becoming steep.

    Attributes:
        by_range: the share of the range in the coordinate: 0 is the CDF alone.
    """

    name: str
    cdf: EmpiricalCDF
    by_range: float
    width = 1

    def known(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values lie in the fitted range."""
        low, high = self.cdf.range
        if column.min(initial=low) >= low and column.max(initial=high) <= high:
            return np.ones(len(column), dtype=bool)
        return (column >= low) & (column <= high)

    def features(self, column: Floats) -> Floats:
        """Return the coordinate, (n, 1); beyond the range, at its edge."""
        return in_threads(self._coordinate, column)[:, None]

    def across(self, column: Floats) -> Floats:
        """Return the place of values in the fitted range, on [-1, 1]."""
        low, high = self.cdf.range
        return 2 * (column - low) / (high - low) - 1

    def _coordinate(self, column: Floats) -> Floats:
        column = np.clip(column, *self.cdf.range)
        across = self.across(column)
        if self.by_range == 1:
            return across
        return self.by_range * across + (1 - self.by_range) * (2 * self.cdf(column) - 1)

    def graph(self, graph: Graph, column: Value) -> tuple[Value, Value]:
        """Return the coordinate, and which values are known, as steps of a graph."""
        low, high = self.cdf.range
        inside = column.clip(low, high)
        place = 2 * (inside - low) / (high - low) - 1
        if self.by_range != 1:
            by_cdf = 2 * self.cdf.graph(graph, inside) - 1
            place = self.by_range * place + (1 - self.by_range) * by_cdf
        return place, column.equals(inside)

    def words(self, first: float, last: float) -> str:
        """Return where the coordinate is between two numbers, in words."""
        values = np.linspace(*self.cdf.range, 10_001)
        ends = np.interp([first, last], self._coordinate(values), values)
        return "{} {:.4g} to {:.4g}".format(self.name, *ends)

    def describe(self) -> str:
        """Return the fitted range in words."""
        return "[{:g}, {:g}]".format(*self.cdf.range)


@dataclass(frozen=True)
class Categorical:
    """An attribute with a few values: one input for each."""

    name: str
    values: list[Any]

    @property
    def width(self) -> int:
        """How many coordinates it makes."""
        return len(self.values)

    def known(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values were seen in the fit."""
        return np.isin(column, self.values)

    def features(self, column: NDArray[Any]) -> Floats:
        """Return zeros and a one."""
        return np.asarray(column[:, None] == np.asarray(self.values), dtype=float)

    @property
    def is_text(self) -> bool:
        """Whether the values are strings."""
        return isinstance(self.values[0], str)

    def graph(self, graph: Graph, column: Value) -> tuple[Value, Value]:
        """Return zeros and a one, and which values are known, as steps of a graph."""
        values = self.values
        if self.is_text:
            # From here on a number, the place in the list; -1 is for what is not there.
            column = graph.add("LabelEncoder", column, keys=values)
            column, values = graph.add("Cast", column, to="float64"), list(range(len(values)))
        one_hot = graph.where(column.equals(np.array([values], dtype=np.float64)), 1.0, 0.0)
        return one_hot, one_hot @ np.ones((self.width, 1)) > 0.5

    def words(self, first: float, last: float) -> str:
        """Return which categories are between two numbers, in words."""
        low, high = (repr(self.values[int(i)]) for i in (first, last))
        return f"{self.name} {low}" if low == high else f"{self.name} {low} to {high}"

    def describe(self) -> str:
        """Return the fitted values in words."""
        return str(self.values)


@dataclass(frozen=True)
class ProtectedAttributes:
    """All protected attributes of a fitted decorrelator, in order."""

    attributes: list[Continuous | Categorical]

    @classmethod
    def learn(
        cls,
        protected: Any,
        weight: Floats,
        categorical: Sequence[str | int],
        *,
        by_range: float = 0.5,
        sample_size: int | None = None,
    ) -> ProtectedAttributes:
        """Learn ranges and values from the events of a fit, coordinates from a sample of them."""
        names, columns = protected_columns(protected)
        chosen = {_position(which, names) for which in categorical}
        attributes: list[Continuous | Categorical] = []
        for i, (name, column) in enumerate(zip(names, columns, strict=True)):
            if i in chosen:
                attributes.append(Categorical(name, _categories(column, name)))
            else:
                values = _numbers(column, name, i)
                not_constant(values, name)
                knots = 2 if by_range == 1 else 1024
                cdf = EmpiricalCDF.measure(values, weight, knots, sample_size)
                attributes.append(Continuous(name, cdf, by_range))
        return cls(attributes)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [attribute.name for attribute in self.attributes]

    @property
    def width(self) -> int:
        """How many coordinates they make."""
        return sum(a.width for a in self.attributes)

    @property
    def one_axis(self) -> bool:
        """Whether there is one attribute and it is continuous."""
        return len(self.attributes) == 1 and isinstance(self.attributes[0], Continuous)

    @classmethod
    def joined(cls, parts: Sequence[ProtectedAttributes]) -> ProtectedAttributes:
        """Return attributes that know all that any of several fits knows."""
        joined: list[Continuous | Categorical] = []
        for attributes in zip(*(part.attributes for part in parts), strict=True):
            if isinstance(attributes[0], Categorical):
                joined.append(_shared(attributes))
            else:
                ranges = np.array([a.cdf.range for a in attributes])
                ends = np.array([ranges.min(), ranges.max()])
                cdf = EmpiricalCDF(ends, np.array([0.0, 1.0]))
                joined.append(Continuous(attributes[0].name, cdf, by_range=1.0))
        return cls(joined)

    def features(self, protected: Any, outside: Outside | None) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the coordinates (n, f) and which events are to become NaN.

        None for `outside` is "clip" without a word, for parts of a model that has its own.
        """
        columns = in_order_of(self.names, protected)
        blocks = []
        beyond = np.zeros(len(columns[0]), dtype=bool)
        for i, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            if isinstance(attribute, Continuous):
                column = _numbers(column, attribute.name, i)
            known = attribute.known(column)
            if outside is not None and not known.all():
                _report(attribute, int((~known).sum()), len(known), outside)
                beyond |= ~known
            blocks.append(attribute.features(column))
        features = blocks[0] if len(blocks) == 1 else np.hstack(blocks)
        return features, beyond if outside == "nan" else np.zeros(len(beyond), dtype=bool)

    def column(
        self, protected: Any, which: str | int
    ) -> tuple[Continuous | Categorical, NDArray[Any]]:
        """Return one of the attributes, by name or position in the fit, and its values here."""
        for i, name in enumerate(self.names):
            if which in (i, name):
                names, columns = protected_columns(protected)
                return self.attributes[i], columns[names.index(name) if name in names else i]
        raise ValueError(f"attribute is {which!r}; the protected columns are {self.names}")

    def positions(self, features: Floats) -> Floats:
        """Return one number for each attribute, (n, attributes): a category as its number."""
        return np.column_stack(
            [
                block.argmax(axis=1) if isinstance(attribute, Categorical) else block[:, 0]
                for attribute, block in self._blocks(features)
            ]
        )

    def category(self, features: Floats) -> tuple[NDArray[np.intp], int]:
        """Return which combination of categories each event has, and how many there are."""
        category, total = np.zeros(len(features), dtype=np.intp), 1
        for attribute, block in self._blocks(features):
            if isinstance(attribute, Categorical):
                category = category * attribute.width + block.argmax(axis=1)
                total *= attribute.width
        return category, total

    def _blocks(self, features: Floats) -> Iterator[tuple[Continuous | Categorical, Floats]]:
        """Return each attribute with its part of the coordinates."""
        ends = np.cumsum([a.width for a in self.attributes])
        return zip(self.attributes, np.split(features, ends[:-1], axis=1), strict=True)

    def graph(
        self, graph: Graph, columns: list[Value], outside: Outside | None
    ) -> tuple[Value, Value | None]:
        """Return `features` as steps of a graph, and NaN for what is outside, else 0.

        A graph cannot raise an error: what would raise one becomes NaN.
        """
        blocks, marks = [], []
        for attribute, column in zip(self.attributes, columns, strict=True):
            block, known = attribute.graph(graph, column)
            blocks.append(block)
            if outside in ("raise", "nan") or isinstance(attribute, Categorical):
                marks.append(graph.where(known, 0.0, np.nan))
                if outside in ("raise", "clip"):
                    beyond = f"{attribute.name} is outside the fitted {attribute.describe()}"
                    graph.demand(known, beyond)
        mark = sum(marks[1:], start=marks[0]) if marks else None
        return graph.add("Concat", *blocks, axis=-1), mark

    def graph_positions(self, graph: Graph, features: Value) -> list[Value]:
        """Return the columns of `positions` as steps of a graph."""
        places, first = [], 0
        for attribute in self.attributes:
            own = np.arange(first, first + attribute.width)
            place = graph.add("Gather", features, own, axis=1)
            if isinstance(attribute, Categorical):
                place = place @ np.arange(float(attribute.width))[:, None]
            places.append(place)
            first += attribute.width
        return places

    def state(self) -> tuple[Arrays, list[Json]]:
        """Return what was learned, as arrays and as JSON."""
        arrays: Arrays = {}
        described: list[Json] = []
        for i, a in enumerate(self.attributes):
            if isinstance(a, Categorical):
                described.append({"name": a.name, "categories": a.values})
            else:
                described.append({"name": a.name, "range": a.cdf.range, "by_range": a.by_range})
                arrays |= a.cdf.state(f"protected.{i}")
        return arrays, described

    @classmethod
    def restore(cls, arrays: Arrays, described: list[Json]) -> ProtectedAttributes:
        """Take back what `state` gave."""
        attributes: list[Continuous | Categorical] = []
        for i, a in enumerate(described):
            if "categories" in a:
                attributes.append(Categorical(a["name"], a["categories"]))
            else:
                cdf = EmpiricalCDF.restore(arrays, f"protected.{i}")
                # Version 0.1.0 knew two.
                by_range = a["by_range"] if "by_range" in a else 1.0 if a["linear"] else 0.5
                attributes.append(Continuous(a["name"], cdf, by_range))
        return cls(attributes)


def _report(attribute: Continuous | Categorical, count: int, total: int, outside: Outside) -> None:
    message = (
        f"{attribute.name} is outside the fitted {attribute.describe()} "
        f"in {count:,} of {total:,} events"
    )
    if outside == "clip" and isinstance(attribute, Continuous):
        then = "the nearest fitted value stands in"
    elif outside == "nan":
        then = "they become NaN"
    else:
        raise ValueError(
            f"{message}; fit on events that have them, or set outside='nan' to mark them"
        )
    warnings.warn(
        OutsideWarning(f"{message}: {then}", attribute.name, count), stacklevel=users_level()
    )


def _categories(column: NDArray[Any], name: str) -> list[Any]:
    none_missing(column, name)
    try:
        values: list[Any] = np.unique(column).tolist()
    except TypeError:
        raise ValueError(
            f"{name} mixes kinds of values; make them all text or all numbers"
        ) from None
    if len(values) == 1:
        raise ValueError(
            f"{name} is {values[0]!r} in all {len(column):,} events; "
            "there is nothing to decorrelate in a constant"
        )
    if len(values) > MANY and EACH * len(values) > len(column):
        raise ValueError(
            f"{name} has {len(values):,} values in {len(column):,} events; for so many categories "
            f"expected {EACH} events each. If it is a scale, do not call it categorical"
        )
    return values


def _shared(attributes: Sequence[Categorical]) -> Categorical:
    """Return a category of which all parts of a model know the same values."""
    values = [set(a.values) for a in attributes]
    rare = set.union(*values) - set.intersection(*values)
    if rare:
        raise ValueError(
            f"{attributes[0].name} is {sorted(rare)[0]!r} in too few events: there are models that "
            "have not seen it; take fewer folds, or join it with another category"
        )
    return attributes[0]


def _numbers(column: NDArray[Any], name: str, index: int) -> Floats:
    if column.dtype.kind in "USO" and not _is_numeric(column):
        raise ValueError(
            f"{name} holds text such as {str(column.flat[0])!r}; expected numbers. "
            f"To protect a category, name it: categorical=[{index}]"
        )
    return numbers(column, name)


def _is_numeric(column: NDArray[Any]) -> bool:
    try:
        column.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def _position(which: str | int, names: list[str]) -> int:
    if isinstance(which, str) and which in names:
        return names.index(which)
    if isinstance(which, int | np.integer) and 0 <= which < len(names):
        return which
    raise ValueError(f"categorical names {which!r}, but the protected columns are {names}")
