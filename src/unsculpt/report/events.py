"""The events of a report: two scores and what they are judged by."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.decorrelators import Decorrelator
from unsculpt.decorrelators.common.attributes import Categorical
from unsculpt.inputs import (
    Columns,
    Floats,
    named_columns,
    numbers,
    protected_columns,
    same_length,
)
from unsculpt.plots.axis import Axis


@dataclass(frozen=True)
class Events:
    """The score as it came and decorrelated, and what it is judged by.

    Attributes:
        scores: both scores by their names.
        labels: 1 for signal, 0 for background.
        weight: None if all events count alike.
        protected: the attributes, as the model takes them.
        axes: the same to draw, one for each.
        notes: what the reader should know.
    """

    scores: dict[str, Floats]
    labels: Floats
    weight: Floats | None
    protected: Any
    axes: list[Axis]
    notes: list[str]

    @classmethod
    def prepare(
        cls,
        model: Decorrelator,
        scores: ArrayLike,
        protected: Any,
        labels: ArrayLike,
        sample_weight: ArrayLike | None,
        names: Sequence[str] | None,
        bins: int | ArrayLike,
    ) -> Events:
        """Decorrelate the score and leave out the events that have no decorrelated one."""
        raw = numbers(scores, "scores")
        if raw.ndim != 1:
            raise ValueError(f"scores has shape {raw.shape}; a report is about one score, (n,)")
        found, columns = protected_columns(protected)
        if names is None:
            names = found
        elif len(names) != len(columns):
            raise ValueError(f"names has {len(names)} entries for {len(columns)} attributes")
        label = numbers(labels, "labels")
        same_length(len(raw), labels=len(label))

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            flat = model.transform(raw, protected)
        known = np.isfinite(flat)
        categories = _categories(model, found)
        drawn = [c.astype(str) if i in categories else c for i, c in enumerate(columns)]
        weight = None if sample_weight is None else numbers(sample_weight, "weight")
        return cls(
            {"raw score": raw[known], "decorrelated score": flat[known]},
            label[known],
            None if weight is None else weight[known],
            _table_like(protected, [column[known] for column in columns]),
            [
                Axis.from_events(column[known], label[known], bins if i == 0 else 50, name)
                for i, (name, column) in enumerate(zip(names, drawn, strict=True))
            ],
            [str(warning.message) for warning in caught],
        )


def _categories(model: Decorrelator, names: list[str]) -> set[int]:
    """Return which columns the model takes for categories, be they numbers."""
    attributes = getattr(getattr(model, "attributes_", None), "attributes", [])
    taken = [a.name for a in attributes if isinstance(a, Categorical)]
    if set(taken) <= set(names):  # otherwise the model and the table are unnamed, and in one order
        return {names.index(name) for name in taken}
    return {i for i, a in enumerate(attributes) if isinstance(a, Categorical)}


def along_first(events: Events) -> tuple[NDArray[Any], Any]:
    """Return values across the first attribute, and a table with the others at their median."""
    _, columns = protected_columns(events.protected)
    background, axis = events.labels == 0, events.axes[0]
    first = columns[0][background]
    values = np.unique(first) if axis.categories else _across(first.astype(float), axis)
    others = (np.repeat(_typical(c[background]), len(values)) for c in columns[1:])
    return values, _table_like(events.protected, [values, *others])


def rows(protected: Any, which: Any) -> Any:
    """Return some of the events of a table of attributes."""
    return _table_like(protected, [column[which] for column in protected_columns(protected)[1]])


def _table_like(protected: Any, columns: list[NDArray[Any]]) -> Any:
    """Return columns in the form in which the attributes came: named, or an array."""
    if named_columns(protected) is not None:
        return Columns(zip(protected_columns(protected)[0], columns, strict=True))
    if np.ndim(protected) == 1:
        return columns[0]
    table = np.empty((len(columns[0]), len(columns)), np.asarray(protected).dtype)
    for i, column in enumerate(columns):
        table[:, i] = column
    return table


def _across(column: Floats, axis: Axis) -> Floats:
    low, high = np.clip([column.min(), column.max()], axis.edges[0], axis.edges[-1])
    return np.linspace(low, high, 101)


def _typical(column: NDArray[Any]) -> Any:
    """Return the median, or for categories the one in the middle: a value that exists."""
    return np.sort(column)[len(column) // 2]


def losses(model: Decorrelator) -> dict[str, Floats]:
    """Return the losses of the training, as far as the method has any."""
    history: Mapping[str, Floats] = getattr(model, "history_", None) or {}
    return {
        name.removesuffix("_loss"): np.asarray(values)
        for name, values in history.items()
        if name.endswith("_loss") and np.isfinite(values).any()
    }
