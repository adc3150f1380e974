"""Weights that take what a classifier should not learn out of its training sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats, event_weights, not_constant, numbers, same_length


def planing_weights(
    values: ArrayLike,
    label: ArrayLike,
    *,
    bins: int = 50,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return factors that make a variable flat in every class.

    Such as the pT of jets, so that a classifier cannot tell the classes apart by it. Each class is
    flattened by itself, over the bins where it has events, and keeps its total weight; multiply
    by `balance_weights` for classes of equal weight, and by your own weights if you have some.

    Args:
        values: (n,), the variable to plane.
        label: (n,), the class of each event.
        bins: how many, of equal width over the range of all values.
        sample_weight: (n,), weights the events have already.

    >>> import numpy as np
    >>> pt, label = np.array([310.0, 315.0, 390.0, 320.0, 380.0]), np.array([0, 0, 0, 1, 1])
    >>> planing_weights(pt, label, bins=2)
    array([0.75, 0.75, 1.5 , 1.  , 1.  ])
    """
    column, which = _in_bins(values, bins)
    weight = event_weights(sample_weight, len(column), "values")
    classes = _classes(label, len(column))
    factor = np.empty(len(column))
    for rows in classes:
        content = np.bincount(which[rows], weight[rows], minlength=bins)
        filled = np.bincount(which[rows], minlength=bins) > 0
        if np.any(content[filled] <= 0):
            raise ValueError(
                f"a class has a negative or zero sum of weights in {np.sum(content[filled] <= 0)} "
                f"of {bins} bins, which no factor makes flat; use fewer bins"
            )
        level = content.sum() / filled.sum()
        factor[rows] = level / content[which[rows]]
    return factor


def balance_weights(label: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Floats:
    """Return factors that give every class the same total weight, and keep that of all.

    Args:
        label: (n,), the class of each event.
        sample_weight: (n,), weights the events have already.

    >>> balance_weights([0, 0, 0, 1])
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    events = len(np.asarray(label))
    weight = event_weights(sample_weight, events, "label")
    classes = _classes(label, events)
    factor = np.empty(events)
    for rows in classes:
        total = weight[rows].sum()
        if total <= 0:
            raise ValueError(f"a class has the total weight {total:g}; expected a positive one")
        factor[rows] = weight.sum() / len(classes) / total
    return factor


def flat_sample(
    values: ArrayLike, size: int, *, bins: int = 50, seed: int = 0
) -> NDArray[np.int64]:
    """Return the rows of a random sample, with repetition, in which a variable is flat.

    Such as the mass: a classifier trained on background drawn so has no mass to learn from.

    Args:
        values: (n,), the variable to flatten, over the bins where it has events.
        size: how many rows to draw.
        bins: how many, of equal width over the range of the values.
        seed: fixes the draw.

    >>> mass = [60.0, 61.0, 62.0, 63.0, 120.0]
    >>> rows = flat_sample(mass, 1000, bins=2)
    >>> bool(400 < (rows == 4).sum() < 600)
    True
    """
    column, which = _in_bins(values, bins)
    share = 1 / np.bincount(which, minlength=bins)[which]
    return np.random.default_rng(seed).choice(len(column), size, p=share / share.sum())


def _in_bins(values: ArrayLike, bins: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values, checked, and which bin each is in."""
    column = numbers(np.asarray(values), "values")
    if column.ndim != 1:
        raise ValueError(f"values has shape {column.shape}; expected (n,)")
    not_constant(column, "values")
    if not (isinstance(bins, int | np.integer) and bins >= 1):
        raise ValueError(f"bins is {bins!r}; expected a whole number of at least 1")
    edges = np.linspace(column.min(), column.max(), bins + 1)
    return column, np.clip(np.searchsorted(edges, column, side="right") - 1, 0, bins - 1)


def _classes(label: ArrayLike, events: int) -> list[NDArray[np.bool_]]:
    """Return which events are of each class."""
    column = np.asarray(label)
    if column.ndim != 1:
        raise ValueError(f"label has shape {column.shape}; expected (n,)")
    same_length(events, "values", label=len(column))
    return [column == one for one in np.unique(column)]
