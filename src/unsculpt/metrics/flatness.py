"""How far the score's distribution moves with the protected attribute, at all cuts at once."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats, weight_column
from unsculpt.metrics._inputs import check_class, column
from unsculpt.metrics.binning import bin_edges, events_by_bin, weight_in_bins


class Inclusive(NamedTuple):
    """The score's distribution over all events, at each distinct score."""

    step: Floats
    cdf: Floats


class InBin(NamedTuple):
    """The score's distribution in a bin, at the distinct scores it has there."""

    rank: NDArray[np.intp]
    cdf: Floats


def kolmogorov_smirnov_in_bins(
    scores: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return how far the score's distribution in each bin is from the inclusive one at most.

    The largest distance between F_b and F over all scores, for F_b the distribution function in
    bin b and F the one of all events. With negative weights, the largest next to the scores in
    the bin.

    Args:
        scores: Scores, usually of the background alone, shape (n,).
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        sample_weight: Event weights, negative ones included.

    Returns:
        One distance per bin, NaN where there are no events or no positive weight.

    Examples:
        >>> kolmogorov_smirnov_in_bins([0.1, 0.3, 0.5, 0.7], [60, 60, 90, 90], bins=2)
        array([0.5, 0.5])
    """
    inclusive, in_bins = _distributions(scores, protected, bins, sample_weight)

    # Between two scores of the bin only F changes, so the extremes lie beside those scores.
    def distance(rank: NDArray[np.intp], cdf: Floats) -> float:
        after = cdf - inclusive.cdf[rank]
        before = np.concatenate(([0.0], cdf[:-1])) - (inclusive.cdf[rank] - inclusive.step[rank])
        return float(np.abs([before, after]).max())

    return np.array([np.nan if b is None else distance(*b) for b in in_bins])


def cramer_von_mises_in_bins(
    scores: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return the squared distance of the score's distribution in each bin to the inclusive one.

    The integral of (F_b - F)² dF, for F_b the distribution function in bin b and F the one of
    all events.

    Args:
        scores: Scores, usually of the background alone, shape (n,).
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        sample_weight: Event weights, negative ones included.

    Returns:
        One squared distance per bin, NaN where there are no events or no positive weight.

    Examples:
        >>> cramer_von_mises_in_bins([0.1, 0.3, 0.5, 0.7], [60, 60, 90, 90], bins=2)
        array([0.09375, 0.09375])
    """
    inclusive, in_bins = _distributions(scores, protected, bins, sample_weight)
    n = len(inclusive.cdf)
    moments = [
        np.concatenate(([0.0], np.cumsum(inclusive.step * inclusive.cdf**power)))
        for power in range(3)
    ]

    # F_b is constant between two scores of the bin, so the square opens into moments of F.
    def distance(rank: NDArray[np.intp], cdf: Floats) -> float:
        level, ends = np.concatenate(([0.0], cdf)), np.concatenate(([0], rank, [n]))
        zeroth, first, second = (np.diff(moment[ends]) for moment in moments)
        return max(float(np.sum(level**2 * zeroth - 2 * level * first + second)), 0.0)

    return np.array([np.nan if b is None else distance(*b) for b in in_bins])


def _distributions(
    scores: ArrayLike, protected: ArrayLike, bins: int | ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Inclusive, Iterator[InBin | None]]:
    scores = column(scores, "scores")
    protected = column(protected, "protected", len(scores))
    weight = weight_column(sample_weight, len(scores), "the first array")
    check_class(np.ones(len(scores), dtype=bool), weight, "events")
    groups = events_by_bin(protected, bin_edges(protected, bins))
    _, rank = np.unique(scores, return_inverse=True)
    step = weight_in_bins(rank, weight / weight.sum())

    def in_bin(group: NDArray[np.intp]) -> InBin | None:
        total = weight[group].sum()
        if total <= 0:
            return None
        ranks, position = np.unique(rank[group], return_inverse=True)
        return InBin(ranks, np.cumsum(weight_in_bins(position, weight[group] / total)))

    return Inclusive(step, np.cumsum(step)), map(in_bin, groups)
