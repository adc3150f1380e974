"""How well a score tells signal from background."""

import math

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask, check_fraction
from unsculpt.metrics._inputs import Window, check_class, column, describe, events, inside
from unsculpt.metrics.binning import weight_in_bins


def highest_cuts(scores: Floats, weight: Floats, fractions: Floats) -> Floats:
    """Return, for each fraction, the highest score at or above which that much weight lies."""
    values, rank = np.unique(scores, return_inverse=True)
    kept = np.cumsum(weight_in_bins(rank, weight)[::-1])
    # Rounding must not cost an event: 0.07 * 100 is a little more than 7.
    wanted = fractions * kept[-1] * (1 - 1e-12)
    # Negative weights make the sum fall now and then: the first time it gets there counts.
    cuts: Floats = values[::-1][np.searchsorted(np.maximum.accumulate(kept), wanted)]
    return cuts


def highest_cut(scores: Floats, weight: Floats, fraction: float) -> float:
    """Return the highest score at or above which `fraction` of the weight lies."""
    return float(highest_cuts(scores, weight, np.array([fraction]))[0])


def mann_whitney(scores: Floats, signal: Mask, weight: Floats) -> float:
    """Return the weighted fraction of signal-background pairs in the right order."""
    _, rank = np.unique(scores, return_inverse=True)
    at_signal = weight_in_bins(rank, np.where(signal, weight, 0.0))
    at_background = weight_in_bins(rank, np.where(signal, 0.0, weight))
    below = np.cumsum(at_background) - at_background / 2
    return float(at_signal @ below / (at_signal.sum() * at_background.sum()))


def threshold(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    efficiency: float = 0.5,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the score cut that keeps a fraction of the signal.

    An event passes if its score is at least the cut. The cut is the highest score in the signal
    that keeps `efficiency` of it or more: equal scores pass or fail together.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        efficiency: Fraction of the signal to keep.
        sample_weight: Event weights, negative ones included.

    Returns:
        The cut.

    Examples:
        >>> threshold([0.1, 0.4, 0.6, 0.9], [1, 1, 1, 1], efficiency=0.5)
        0.6
    """
    check_fraction(efficiency, "efficiency")
    scores, signal, weight = events(scores, labels, sample_weight)
    check_class(signal, weight, "signal")
    return highest_cut(scores[signal], weight[signal], efficiency)


def rejection(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    efficiency: float = 0.5,
    protected: ArrayLike | None = None,
    window: Window | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the inverse of the background efficiency at a signal efficiency.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        protected: Protected attribute, shape (n,); needed only with a window.
        window: (low, high), ends included: count only the background inside. The cut stays the
            one from all events.
        sample_weight: Event weights, negative ones included.

    Returns:
        The rejection, infinite if no background (or no positive weight of it) passes.

    Examples:
        >>> scores, labels = [0.1, 0.2, 0.3, 0.8, 0.5, 0.7], [0, 0, 0, 0, 1, 1]
        >>> rejection(scores, labels)
        4.0
        >>> rejection(scores, labels, protected=[50, 60, 80, 90, 80, 81], window=(70, 100))
        2.0
    """
    cut = threshold(scores, labels, efficiency=efficiency, sample_weight=sample_weight)
    scores, signal, weight = events(scores, labels, sample_weight)
    background = ~signal
    if window is not None:
        if protected is None:
            raise ValueError("window is given without protected; pass the column it applies to")
        background &= inside(column(protected, "protected", len(scores)), window)
    check_class(background, weight, "background" + describe(window))
    passing = weight[background & (scores >= cut)].sum()
    return float(weight[background].sum() / passing) if passing > 0 else math.inf


def auc(scores: ArrayLike, labels: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the area under the ROC curve: how often signal scores above background.

    The weighted fraction of signal-background pairs in which the signal has the higher score;
    equal scores count one half. Being a sum over pairs, it needs no monotone curve, so negative
    weights are welcome.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        sample_weight: Event weights, negative ones included.

    Returns:
        The area, which is 1 for perfect separation and 0.5 for none.

    Examples:
        >>> auc([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1])
        0.875
    """
    scores, signal, weight = events(scores, labels, sample_weight)
    check_class(signal, weight, "signal")
    check_class(~signal, weight, "background")
    return mann_whitney(scores, signal, weight)
