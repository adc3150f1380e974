"""Which fold an event is in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.decorrelators.base import FEWEST_EVENTS
from unsculpt.inputs import whole_numbers

NEW = -1  # the fold of an event that no model has seen


def fold_of_each(
    folds: int, events: int, fold: ArrayLike | None, event: ArrayLike | None
) -> NDArray[np.int64]:
    """Return the fold of each event."""
    if event is not None:
        if fold is not None:
            raise ValueError("fold and event are both given; expected one of them")
        return np.asarray(whole_numbers(event, "event", events) % folds, dtype=np.int64)
    if fold is None:
        return np.full(events, NEW)
    found = whole_numbers(fold, "fold", events)
    wrong = found[(found < NEW) | (found >= folds)]
    if wrong.size:
        raise ValueError(
            f"fold is {wrong[0]} and the like in {wrong.size:,} of {events:,} events; expected 0 "
            f"to {folds - 1}, or {NEW} for an event that no model has seen. Event numbers go in "
            "event="
        )
    return np.asarray(found, dtype=np.int64)


def check_folds(fold: NDArray[np.int64], folds: int, which: str) -> None:
    """Refuse folds with hardly an event."""
    if len(fold) < FEWEST_EVENTS * folds:
        raise ValueError(
            f"scores has {len(fold)} {which}; a fit needs at least {FEWEST_EVENTS} of "
            f"background in each of the {folds} folds: take fewer folds, or more events"
        )
    counts = np.bincount(fold, minlength=folds)
    least = counts.argmin()
    if counts[least] < FEWEST_EVENTS:
        raise ValueError(
            f"fold {least} of {folds} has {counts[least]} background events; expected at "
            f"least {FEWEST_EVENTS}: take other folds, or event numbers that have all "
            f"remainders modulo {folds} alike"
        )
