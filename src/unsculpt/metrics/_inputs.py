"""What the metrics accept, and what they say when they get something else."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Window: TypeAlias = tuple[float, float]


def column(values: ArrayLike, name: str, length: int | None = None) -> Floats:
    """Return `values` as one finite number per event."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers ({error}); pass a numeric array") from error
    if array.ndim != 1:
        raise ValueError(
            f"{name} has shape {array.shape}; expected one column (n,), so pass one column of it"
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; expected at least one event")
    if length is not None and len(array) != length:
        raise ValueError(
            f"{name} has {len(array)} events but the first array has {length}; "
            "pass one entry per event"
        )
    bad = array.size - np.count_nonzero(np.isfinite(array))
    if bad:
        raise ValueError(
            f"{name} is NaN or infinite in {bad} of {array.size} events; "
            "remove or repair those first"
        )
    return array


def weights(sample_weight: ArrayLike | None, length: int) -> Floats:
    """Return the event weights, one each if none are given."""
    if sample_weight is None:
        return np.ones(length)
    return column(sample_weight, "sample_weight", length)


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
    return scores, labels == 1, weights(sample_weight, len(scores))


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


def check_fraction(value: float, name: str) -> None:
    """Refuse what is not a fraction strictly between none and all."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; expected a number between 0 and 1, such as 0.5")


def count(value: object, name: str) -> int:
    """Return a whole number of at least one."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value}; expected a whole number of at least 1")
    return int(value)


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
