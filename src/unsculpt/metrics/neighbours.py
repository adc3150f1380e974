"""How far the score's distribution among neighbours is from that of all events."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import (
    Floats,
    numbers,
    protected_columns,
    same_length,
    weight_column,
    whole_number,
)
from unsculpt.metrics._inputs import check_class, column

CHUNK = 2**22  # distances at once


def cramer_von_mises_among_neighbours(
    scores: ArrayLike,
    protected: Any,
    *,
    neighbours: int = 50,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return how far the score's distribution around each event is from the inclusive one.

    The measure of hep_ml's `KnnBasedCvM` (Rogozhnikov et al., JINST 10 (2015) T03002) and, in its
    idea, of the Flavours of Physics challenge: the integral of (F_near - F)² dF for the nearest
    events of each event in the attributes, itself included, averaged so that events that are
    near to many count once. At a score that several events share, F is half way up its step.

    Attributes are taken as they come: with several, bring them to one scale first. Every pair of
    events is looked at, so 20,000 events take a few seconds and 200,000 a few minutes.

    Args:
        scores: Scores, usually of the background alone, shape (n,).
        protected: Numbers, (n,), (n, k), or a table with named columns.
        neighbours: How many of the nearest events make up a group.
        sample_weight: Event weights, none of them negative: among a few neighbours they may cancel.

    Returns:
        The mean over all groups. An independent score without weights has about
        1 / (6 neighbours).

    Examples:
        >>> random = np.random.default_rng(1)
        >>> mass, score = random.exponential(50, 2000), random.random(2000)
        >>> flat = cramer_von_mises_among_neighbours(score, mass)
        >>> sculpted = cramer_von_mises_among_neighbours(score + mass / 100, mass)
        >>> bool(flat < 0.004), bool(sculpted > 0.03)
        (True, True)
    """
    values = column(scores, "scores")
    names, columns = protected_columns(protected)
    same_length(len(values), protected=len(columns[0]))
    places = np.column_stack([numbers(c, n) for c, n in zip(columns, names, strict=True)])
    weight = weight_column(sample_weight, len(values), "scores")
    check_class(np.ones(len(values), dtype=bool), weight, "events")
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight is negative in {np.sum(weight < 0):,} of {len(weight):,} events; "
            "expected none: among a few neighbours they may cancel. flatness_test takes them"
        )
    whole_number(neighbours, "neighbours")
    if neighbours > len(values):
        raise ValueError(
            f"neighbours is {neighbours}, but there are {len(values):,} events; expected no more"
        )
    groups = _nearest(places, neighbours)
    distances = _distances(values, weight / weight.sum(), groups)
    # An event that is in many groups counts as little in each.
    share = weight / np.maximum(np.bincount(groups.ravel(), minlength=len(values)), 1)
    counts = share[groups].sum(axis=1)
    return float(counts @ distances / counts.sum())


def _nearest(places: Floats, neighbours: int) -> NDArray[np.intp]:
    """Return the nearest events of each, (n, neighbours)."""
    places = places - places.mean(axis=0)  # or squares of large numbers would hide what is near
    squares = (places**2).sum(axis=1)
    groups = np.empty((len(places), neighbours), dtype=np.intp)
    step = max(CHUNK // len(places), 1)
    for start in range(0, len(places), step):
        rows = slice(start, start + step)
        # Less the square of the event itself, which is the same for all.
        distance = squares - 2 * places[rows] @ places.T
        groups[rows] = np.argpartition(distance, neighbours - 1, axis=1)[:, :neighbours]
    return groups


def _distances(scores: Floats, weight: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return the integral of (F_near - F)² dF for each group."""
    distinct, rank = np.unique(scores, return_inverse=True)
    step = np.bincount(rank, weight)
    middle = np.cumsum(step) - step / 2
    # Between two scores of a group F_near is constant, so the square opens into moments of F.
    moments = [np.append(0.0, np.cumsum(step * middle**power)) for power in range(3)]

    places = np.sort(rank[groups], axis=1)
    order = np.argsort(rank[groups], axis=1, kind="stable")
    own = np.take_along_axis(weight[groups], order, axis=1)
    after = np.cumsum(own, axis=1) / own.sum(axis=1, keepdims=True)
    # Events that share a score make one step, from before the first to after the last of them.
    edge = np.ones((len(places), 1), dtype=bool)
    changes = np.diff(places, axis=1) != 0
    first, last = np.hstack([edge, changes]), np.hstack([changes, edge])
    begins = np.maximum.accumulate(np.where(first, np.arange(places.shape[1]), 0), axis=1)
    before = np.hstack([np.zeros((len(places), 1)), after[:, :-1]])
    halfway = (np.take_along_axis(before, begins, axis=1) + after) / 2
    at_steps = step[places] * (middle[places] - halfway) ** 2
    ends = np.hstack([places[:, 1:], np.full((len(places), 1), len(distinct))])
    zeroth, one, two = (moment[ends] - moment[places + 1] for moment in moments)
    between = after**2 * zeroth - 2 * after * one + two
    below = moments[2][places[:, 0]]
    return np.asarray(below + np.where(last, at_steps + between, 0.0).sum(axis=1))
