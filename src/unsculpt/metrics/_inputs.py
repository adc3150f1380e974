"""What the metrics accept, and what they say when they get something else."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unsculpt import inputs
from unsculpt.inputs import Floats, Mask, not_empty, weight_column

Window: TypeAlias = tuple[float, float]


def column(values: ArrayLike, name: str, length: int | None = None) -> Floats:
    """Return `values` as one finite number per event; a number without any event means nothing."""
    array = inputs.column(values, name, length, "the first array")
    not_empty(array, name)
    return array


def events(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, Mask, Floats]:
    """Return scores, whether each event is signal, and event weights."""
    scores = column(scores, "scores")
    labels = column(labels, "labels", len(scores))
    odd = np.count_nonzero((labels != 0) & (labels != 1))
    if odd:
        raise ValueError(
            f"labels is neither 0 nor 1 in {odd} of {len(labels)} events; "
            "use 1 for signal and 0 for background"
        )
    return scores, labels == 1, weight_column(sample_weight, len(scores), "the first array")


def check_class(selected: Mask, weight: Floats, what: str) -> None:
    """Refuse a selection without events or without weight."""
    n_selected = np.count_nonzero(selected)
    if n_selected == 0:
        raise ValueError(
            f"there is no {what} among the {len(selected)} events; expected at least one "
            "(labels: 1 for signal, 0 for background)"
        )
    total = weight[selected].sum()
    if total <= 0:
        raise ValueError(
            f"sample_weight of the {what} sums to {total:g} over {n_selected} events; "
            "expected a positive total, so add events or check the signs"
        )


def inside(protected: Floats, window: Window | None) -> Mask:
    """Return which events lie in the window, its ends included; all of them if there is none."""
    if window is None:
        return np.ones(len(protected), dtype=bool)
    ends = column(window, "window")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ValueError(f"window is {window}; expected (low, high) with low below high")
    within: Mask = (ends[0] <= protected) & (protected <= ends[1])
    return within


def describe(window: Window | None) -> str:
    """Return the words that say where, for error messages."""
    return "" if window is None else f" inside the window [{window[0]:g}, {window[1]:g}]"
