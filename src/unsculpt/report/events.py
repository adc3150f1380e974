"""The events of a report: scores and what they are judged by."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.decorrelators import CrossFit, Decorrelator
from unsculpt.decorrelators.common.attributes import Categorical
from unsculpt.inputs import (
    Columns,
    Floats,
    named_columns,
    numbers,
    protected_columns,
    same_length,
    weight_column,
)
from unsculpt.metrics._inputs import check_class
from unsculpt.plots.axis import Axis
from unsculpt.plots.style import COLOURS

NO_SIGNAL = (
    "there is no signal among these events. Cuts keep a share of the background instead of the "
    "signal; what needs signal is left out: rejection at a signal efficiency, AUC, the signal that "
    "is kept, and separation in bins"
)


@dataclass(frozen=True)
class Events:
    """The score as it came and decorrelated, and what it is judged by.

    Attributes:
        scores: the raw score and the new ones by their names.
        models: those of the new scores, by the names of these; the first is the main one.
        labels: 1 for signal, 0 for background. Where there is no signal a copy of the background
            plays it: a cut that keeps half of the copy keeps half of the background.
        has_signal: whether it is the real one.
        weight: None if all events count alike.
        protected: the attributes, as the model takes them.
        axes: the same to draw, one for each.
        notes: what the reader should know.
        fold: of each event, where it is known.
    """

    scores: dict[str, Floats]
    models: dict[str, Decorrelator]
    labels: Floats
    has_signal: bool
    weight: Floats | None
    protected: Any
    axes: list[Axis]
    notes: list[str]
    fold: NDArray[Any] | None = None

    @property
    def main(self) -> str:
        """The new score of the main model."""
        return next(iter(self.models))

    @property
    def model(self) -> Decorrelator:
        """The main model."""
        return self.models[self.main]

    @property
    def cut_on(self) -> str:
        """What an efficiency is one of."""
        return "signal" if self.has_signal else "background"

    @classmethod
    def prepare(
        cls,
        model: Decorrelator | Mapping[str, Decorrelator],
        scores: ArrayLike,
        protected: Any,
        labels: ArrayLike | None,
        sample_weight: ArrayLike | None,
        names: Sequence[str] | None,
        bins: int | ArrayLike,
        event: ArrayLike | None = None,
    ) -> Events:
        """Decorrelate the score and leave out the events that have no decorrelated one."""
        models = _by_score(model)
        raw = numbers(scores, "scores")
        if raw.ndim != 1:
            raise ValueError(f"scores has shape {raw.shape}; a report is about one score, (n,)")
        found, columns = protected_columns(protected)
        if names is None:
            names = found
        elif len(names) != len(columns):
            raise ValueError(f"names has {len(names)} entries for {len(columns)} attributes")
        label = np.zeros(len(raw)) if labels is None else numbers(labels, "labels")
        same_length(len(raw), labels=len(label))

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folds = None if event is None else _folds(models.values())
            flat = {
                name: one.transform(
                    raw, protected, **({"event": event} if folds and has_folds(one) else {})
                )
                for name, one in models.items()
            }
        known = np.all([np.isfinite(values) for values in flat.values()], axis=0)
        has_signal = bool(label[known].any())
        weight = None if sample_weight is None else weight_column(sample_weight, len(raw))
        for chosen, what in ((label == 0, "background"), (label != 0, "signal")):
            if has_signal or what == "background":
                check_class(chosen & known, np.ones(len(raw)) if weight is None else weight, what)
        kept = np.flatnonzero(known)
        label = label[kept]
        if not has_signal:
            kept, label = np.tile(kept, 2), np.repeat([0.0, 1.0], len(kept))
        categories = _categories(next(iter(models.values())), found)
        drawn = [c.astype(str) if i in categories else c for i, c in enumerate(columns)]
        axes = [
            Axis.from_events(column[kept], label, bins if i == 0 else 50, name)
            for i, (name, column) in enumerate(zip(names, drawn, strict=True))
        ]
        _check_bins(axes[0], label)
        return cls(
            {"raw score": raw[kept]} | {name: values[kept] for name, values in flat.items()},
            models,
            label,
            has_signal,
            None if weight is None else weight[kept],
            _table_like(protected, [column[kept] for column in columns]),
            axes,
            ([] if has_signal else [NO_SIGNAL])
            + list(dict.fromkeys(str(w.message) for w in caught)),
            None if folds is None else (np.asarray(event) % folds)[kept],
        )


def _check_bins(axis: Axis, labels: Floats) -> None:
    """Refuse bins in which no spectrum can change its shape."""
    background = axis.values[labels == 0]
    inside = (background >= axis.edges[0]) & (background <= axis.edges[-1])
    if not inside.any():
        raise ValueError(
            f"bins from {axis.edges[0]:g} to {axis.edges[-1]:g} hold none of the "
            f"{len(background):,} background events, whose {axis.name} runs from "
            f"{background.min():g} to {background.max():g}; give other edges"
        )
    if len(axis.edges) < 3:
        what = f"is {axis.categories[0]} in all events" if axis.categories else "has one bin"
        raise ValueError(
            f"{axis.name} {what}, which holds everything: no cut can sculpt it; expected at least "
            f"two {'values' if axis.categories else 'bins'}"
        )


def has_folds(model: Any) -> bool:
    """Return whether the number of an event tells which of several models has not seen it."""
    return isinstance(model, CrossFit)


def _folds(models: Iterable[Any]) -> int:
    """Return how many folds there are."""
    numbers = {len(model.models_) for model in models if has_folds(model)}
    if not numbers:
        raise ValueError("event is for a CrossFit; no model is one")
    if len(numbers) > 1:
        raise ValueError(
            f"the models have {' and '.join(map(str, sorted(numbers)))} folds; in one report "
            "expected one number of them"
        )
    return numbers.pop()


def _by_score(model: Decorrelator | Mapping[str, Decorrelator]) -> dict[str, Decorrelator]:
    """Return models by what their scores are called."""
    if not isinstance(model, Mapping):
        return {"decorrelated score": model}
    if not 0 < len(model) < len(COLOURS):
        raise ValueError(f"{len(model)} models; a report compares 1 to {len(COLOURS) - 1}")
    if "raw" in model:
        raise ValueError("a model is called raw, as the score that came; give it another name")
    return {f"{name} score": one for name, one in model.items()}


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
