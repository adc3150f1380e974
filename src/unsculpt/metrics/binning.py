"""Bins of the protected attribute."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats, whole_number
from unsculpt.metrics._inputs import column


def bin_edges(protected: ArrayLike, bins: int | ArrayLike) -> Floats:
    """Return the edges of the bins that every metric of this package uses.

    Pass the result as `bins` wherever several numbers must share the same bins. A bin holds its
    lower edge; the last bin holds both. Events outside the edges are in no bin.

    Args:
        protected: Values of the protected attribute, shape (n,).
        bins: A number of equal bins from the smallest to the largest value, or the edges.

    Returns:
        The edges, one more than there are bins.

    Examples:
        >>> bin_edges([50, 120, 250], 4)
        array([ 50., 100., 150., 200., 250.])
    """
    if np.ndim(bins) == 0:
        n_bins = whole_number(bins, "bins")
        protected = column(protected, "protected")
        low, high = protected.min(), protected.max()
        if low == high:
            raise ValueError(
                f"protected is {low:g} in all of {len(protected)} events, which leaves no range "
                "to divide into bins; pass the edges as bins"
            )
        return np.linspace(low, high, n_bins + 1)
    edges = column(bins, "bins")
    if len(edges) < 2 or np.any(np.diff(edges) <= 0):
        raise ValueError(
            f"bins holds {len(edges)} edges, not at least two in rising order; sort them and drop "
            "repeated ones"
        )
    return edges


def bin_index(protected: Floats, edges: Floats) -> NDArray[np.intp]:
    """Return the bin of each event; outside the edges, the number of bins: one past the last."""
    n_bins = len(edges) - 1
    index = np.searchsorted(edges, protected, side="right") - 1
    index[protected == edges[-1]] = n_bins - 1
    index[index < 0] = n_bins
    return index


def weight_in_bins(index: NDArray[np.intp], weight: Floats, n_bins: int = 0) -> Floats:
    """Return the summed weight of each bin, for as many bins as the index needs or `n_bins`."""
    return np.bincount(index, weight, n_bins).astype(np.float64, copy=False)


def events_by_bin(protected: Floats, edges: Floats) -> list[NDArray[np.intp]]:
    """Return the positions of the events of each bin; sorting once keeps many bins cheap."""
    index = bin_index(protected, edges)
    order = np.argsort(index, kind="stable")
    return np.split(order, np.searchsorted(index[order], np.arange(1, len(edges))))[:-1]
