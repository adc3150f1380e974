"""The window of the protected attribute that holds the signal."""

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, check_fraction, weight_column
from unsculpt.metrics._inputs import Window, check_class, column
from unsculpt.metrics.binning import weight_in_bins
from unsculpt.metrics.separation import highest_cut


def signal_window(
    protected: ArrayLike, *, fraction: float = 0.8, sample_weight: ArrayLike | None = None
) -> Window:
    """Return the window centred on the signal peak that holds a fraction of the signal.

    The peak is the centre of the shortest interval that holds half of the signal. Unlike the
    mean and the median it does not follow a long tail, and unlike the fullest bin of a histogram
    it has no binning to choose.

    Args:
        protected: Protected attribute of the signal alone, shape (n,).
        fraction: Fraction of the signal to hold.
        sample_weight: Event weights, negative ones included.

    Returns:
        (low, high), as the `window` of the other metrics.

    Examples:
        >>> signal_window([60, 79, 80, 81, 95])
        (65.0, 95.0)
    """
    check_fraction(fraction, "fraction")
    protected = column(protected, "protected")
    weight = weight_column(sample_weight, len(protected), "the first array")
    check_class(np.ones(len(protected), dtype=bool), weight, "signal")
    peak = _centre_of_shortest_half(protected, weight)
    reach = -highest_cut(-np.abs(protected - peak), weight, fraction)
    return peak - reach, peak + reach


def _centre_of_shortest_half(protected: Floats, weight: Floats) -> float:
    values, rank = np.unique(protected, return_inverse=True)
    below = np.concatenate(([0.0], np.cumsum(weight_in_bins(rank, weight))))
    half = below[-1] / 2 * (1 - 1e-12)
    # Negative weights can make the sum fall; a distribution function never does.
    below = np.maximum.accumulate(below)
    last = np.searchsorted(below, below[:-1] + half) - 1
    first = np.flatnonzero(last < len(values))
    last = last[first]
    shortest = np.argmin(values[last] - values[first])
    return float((values[first[shortest]] + values[last[shortest]]) / 2)
