"""Protected attributes as the inputs of a network, and what to do beyond the fitted range."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.blocks import in_blocks
from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.models.inputs import (
    Floats,
    are_names,
    finite,
    not_constant,
    places_of,
    protected_columns,
)

Outside = Literal["clip", "raise", "nan"]


def check_outside(outside: str) -> None:
    """Refuse a policy that does not exist."""
    if outside not in ("clip", "raise", "nan"):
        raise ValueError(f"outside is {outside!r}; expected 'clip', 'raise' or 'nan'")


@dataclass(frozen=True)
class Continuous:
    """An attribute on a scale: a coordinate on [-1, 1] halfway between its CDF and its range.

    Where the sample is dense the CDF spends the resolution; in a long tail the range keeps what
    depends on the attribute itself from becoming steep.
    """

    name: str
    cdf: EmpiricalCDF
    linear: bool
    width = 1

    def known(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values lie in the fitted range."""
        low, high = self.cdf.range
        return (column >= low) & (column <= high)

    def features(self, column: Floats) -> Floats:
        """Return the coordinate, (n, 1); beyond the range, at its edge."""
        return in_blocks(self._coordinate, column)[:, None]

    def across(self, column: Floats) -> Floats:
        """Return the place of values in the fitted range, on [-1, 1]."""
        low, high = self.cdf.range
        return 2 * (column - low) / (high - low) - 1

    def _coordinate(self, column: Floats) -> Floats:
        column = np.clip(column, *self.cdf.range)
        across = self.across(column)
        return across if self.linear else (across + 2 * self.cdf(column) - 1) / 2

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

    def describe(self) -> str:
        """Return the fitted values in words."""
        return str(self.values)


@dataclass(frozen=True)
class ProtectedAttributes:
    """All protected attributes of a fitted decorrelator, in order."""

    attributes: list[Continuous | Categorical]

    @classmethod
    def of(
        cls,
        protected: Any,
        weight: Floats,
        categorical: Sequence[str | int],
        *,
        linear: bool,
        most: int | None = None,
    ) -> ProtectedAttributes:
        """Learn ranges and values from the events of a fit, coordinates from `most` of them."""
        names, columns = protected_columns(protected)
        chosen = {_position(which, names) for which in categorical}
        attributes: list[Continuous | Categorical] = []
        for i, (name, column) in enumerate(zip(names, columns, strict=True)):
            if i in chosen:
                attributes.append(Categorical(name, _categories(column, name)))
            else:
                values = _numbers(column, name, i)
                not_constant(values, name)
                knots = 2 if linear else 1024
                cdf = EmpiricalCDF.of(values, weight, knots, most)
                attributes.append(Continuous(name, cdf, linear))
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

    def features(self, protected: Any, outside: Outside) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the coordinates (n, f) and which events are to become NaN."""
        names, columns = protected_columns(protected)
        if len(columns) != len(self.attributes):
            raise ValueError(
                f"protected has {len(columns)} columns; expected {len(self.attributes)}: "
                f"{', '.join(self.names)}"
            )
        if hasattr(protected, "columns") and are_names(self.names):
            columns = [columns[i] for i in places_of(self.names, names)]
        blocks = []
        beyond = np.zeros(len(columns[0]), dtype=bool)
        for i, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            if isinstance(attribute, Continuous):
                column = _numbers(column, attribute.name, i)
            known = attribute.known(column)
            if not known.all():
                _report(attribute, int((~known).sum()), len(known), outside)
            beyond |= ~known
            blocks.append(attribute.features(column))
        return np.hstack(blocks), beyond & (outside == "nan")

    def column(
        self, protected: Any, which: str | int
    ) -> tuple[Continuous | Categorical, NDArray[Any]]:
        """Return one of the attributes, by name or position in the fit, and its values here."""
        for i, name in enumerate(self.names):
            if which in (i, name):
                names, columns = protected_columns(protected)
                return self.attributes[i], columns[names.index(name) if name in names else i]
        raise ValueError(f"attribute is {which!r}; the protected columns are {self.names}")

    def state(self) -> tuple[dict[str, NDArray[Any]], list[dict[str, Any]]]:
        """Return what was learned, as arrays and as JSON."""
        arrays: dict[str, NDArray[Any]] = {}
        about: list[dict[str, Any]] = []
        for i, a in enumerate(self.attributes):
            if isinstance(a, Categorical):
                about.append({"name": a.name, "categories": a.values})
            else:
                about.append({"name": a.name, "range": a.cdf.range, "linear": a.linear})
                arrays[f"protected.{i}.quantiles"] = a.cdf.quantiles
                arrays[f"protected.{i}.levels"] = a.cdf.levels
        return arrays, about

    @classmethod
    def restore(
        cls, arrays: dict[str, NDArray[Any]], about: list[dict[str, Any]]
    ) -> ProtectedAttributes:
        """Take back what `state` gave."""
        attributes: list[Continuous | Categorical] = []
        for i, a in enumerate(about):
            if "categories" in a:
                attributes.append(Categorical(a["name"], a["categories"]))
            else:
                quantiles, levels = (arrays[f"protected.{i}.{x}"] for x in ("quantiles", "levels"))
                cdf = EmpiricalCDF(quantiles, levels)
                attributes.append(Continuous(a["name"], cdf, a["linear"]))
        return cls(attributes)


class OutsideWarning(UserWarning):
    """Some events have a protected value beyond the fitted range.

    Attributes:
        name: the attribute.
        count: how many events.
    """

    def __init__(self, message: str, name: str, count: int) -> None:
        super().__init__(message)
        self.name, self.count = name, count


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
    warnings.warn(OutsideWarning(f"{message}: {then}", attribute.name, count), stacklevel=5)


def _categories(column: NDArray[Any], name: str) -> list[Any]:
    # NaN and its like are the values that are not equal to themselves.
    missing = np.array([value is None or (value == value) is not True for value in column.tolist()])
    if missing.any():
        raise ValueError(
            f"{name} is missing in {missing.sum():,} of {len(column):,} events; "
            "remove those or give them a category"
        )
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
    return values


def _numbers(column: NDArray[Any], name: str, index: int) -> Floats:
    if column.dtype.kind in "USO" and not _is_numeric(column):
        raise ValueError(
            f"{name} holds text such as {str(column.flat[0])!r}; expected numbers. "
            f"To protect a category, name it: categorical=[{index}]"
        )
    return finite(column, name)


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
