"""Separation in bins of the protected attribute."""

import math

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics._inputs import check_class, column, events
from unsculpt.metrics.binning import bin_edges, bin_index, events_by_bin, weight_in_bins
from unsculpt.metrics.separation import mann_whitney, threshold


def auc_in_bins(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return the area under the ROC curve in each bin of the protected attribute.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        sample_weight: Event weights, negative ones included.

    Returns:
        One area per bin, NaN where signal or background has no events or no positive weight.

    Examples:
        >>> auc_in_bins([0.1, 0.9, 0.8, 0.3, 0.5], [0, 1, 0, 1, 1], [1, 1, 2, 2, 3], bins=3)
        array([ 1.,  0., nan])
    """
    scores, signal, weight = events(scores, labels, sample_weight)
    protected = column(protected, "protected", len(scores))
    check_class(signal, weight, "signal")
    check_class(~signal, weight, "background")

    def area(bin_scores: Floats, is_signal: Mask, bin_weight: Floats) -> float:
        both = bin_weight[is_signal].sum() > 0 and bin_weight[~is_signal].sum() > 0
        return mann_whitney(bin_scores, is_signal, bin_weight) if both else math.nan

    groups = events_by_bin(protected, bin_edges(protected, bins))
    return np.array([area(scores[group], signal[group], weight[group]) for group in groups])


def expected_auc(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean of the AUC in bins under the signal's distribution of the attribute.

    Unlike the inclusive area it gains nothing from the protected attribute itself, so a flat
    score and the one it came from can be compared. Bins without an area carry no weight.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        sample_weight: Event weights, negative ones included.

    Returns:
        The expected area.

    Examples:
        >>> scores, labels = [0.1, 0.9, 0.8, 0.8, 0.3, 0.4], [0, 1, 1, 1, 1, 0]
        >>> expected_auc(scores, labels, [1, 1, 1, 1, 2, 2], bins=2)
        0.75
    """
    areas = auc_in_bins(scores, labels, protected, bins=bins, sample_weight=sample_weight)
    scores, signal, weight = events(scores, labels, sample_weight)
    protected = column(protected, "protected", len(scores))
    index = bin_index(protected, bin_edges(protected, bins))
    in_signal = weight_in_bins(index[signal], weight[signal], len(areas) + 1)[:-1]
    known = ~np.isnan(areas)
    if not known.any():
        raise ValueError(
            f"none of {len(areas)} bins holds both signal and background among "
            f"{len(scores)} events; use fewer bins or more events"
        )
    return float(np.average(areas[known], weights=in_signal[known]))


def efficiency_in_bins(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    efficiency: float = 0.5,
    label: int = 1,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return the efficiency of one inclusive cut in each bin of the protected attribute.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        label: The class to count: 1 for signal, 0 for background.
        sample_weight: Event weights, negative ones included.

    Returns:
        One efficiency per bin, NaN where the class has no events or no positive weight.

    Examples:
        >>> scores, labels = [0.1, 0.6, 0.9, 0.2, 0.7], [1, 1, 1, 0, 0]
        >>> efficiency_in_bins(scores, labels, [60, 60, 90, 60, 60], bins=2)
        array([0.5, 1. ])
        >>> efficiency_in_bins(scores, labels, [60, 60, 90, 60, 60], bins=2, label=0)
        array([0.5, nan])
    """
    if label not in (0, 1):
        raise ValueError(f"label is {label}; expected 1 for signal or 0 for background")
    cut = threshold(scores, labels, efficiency=efficiency, sample_weight=sample_weight)
    scores, signal, weight = events(scores, labels, sample_weight)
    protected = column(protected, "protected", len(scores))
    chosen = signal == label
    check_class(chosen, weight, "signal" if label else "background")
    edges = bin_edges(protected, bins)
    index, n_bins = bin_index(protected, edges), len(edges) - 1
    total, passing = (
        weight_in_bins(index[selected], weight[selected], n_bins + 1)[:-1]
        for selected in (chosen, chosen & (scores >= cut))
    )
    known = total > 0
    result = np.full(n_bins, np.nan)
    result[known] = passing[known] / total[known]
    return result


def rejection_in_bins(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    bins: int | ArrayLike = 20,
    efficiency: float = 0.5,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return the background rejection of one inclusive cut in each bin of the attribute.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        bins: A number of equal bins across all events, or the edges; see `bin_edges`.
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        sample_weight: Event weights, negative ones included.

    Returns:
        One rejection per bin, infinite where no background (or no positive weight of it)
        passes, NaN where there is none.

    Examples:
        >>> scores, labels = [0.5, 0.1, 0.7, 0.2], [1, 0, 0, 0]
        >>> rejection_in_bins(scores, labels, [80, 60, 60, 80], bins=[50, 70, 90, 110])
        array([ 2., inf, nan])
    """
    passing = efficiency_in_bins(
        scores,
        labels,
        protected,
        bins=bins,
        efficiency=efficiency,
        label=0,
        sample_weight=sample_weight,
    )
    with np.errstate(divide="ignore"):
        return 1 / np.maximum(passing, 0)
