"""The share that passes a cut in cells of the attributes, over that of all events."""

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics.binning import weight_in_bins
from unsculpt.metrics.uncertainty import Interval


def pass_ratio(
    passing: Mask, weight: Floats, cell: NDArray[np.intp], cells: int
) -> Interval[Floats]:
    """Return in each cell the share that passes over the inclusive one, with its error.

    Args:
        passing: which events pass, (n,).
        weight: weight of the events, (n,).
        cell: cell of each event, (n,); `cells` or more for an event in none.
        cells: how many there are.

    Returns:
        One ratio per cell, one if the cut is flat; NaN in cells without positive weight.

    Examples:
        >>> ratio = pass_ratio(np.array([True, False] * 8), np.ones(16), np.arange(16) // 8, 2)
        >>> ratio.value, ratio.high.round(2)
        (array([1., 1.]), array([1.25, 1.25]))
    """
    here = cell < cells

    def summed(values: Floats) -> Floats:
        return weight_in_bins(cell[here], values[here], cells)

    inside, squares, all_weight = summed(weight), summed(weight**2), weight.sum()
    share = weight[passing].sum() / all_weight
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(inside > 0, summed(weight * passing) / inside, np.nan)
        # As if one more event had come that passes as often as all do: without it the error
        # would be zero where nothing passes.
        events = inside**2 / squares
        near = np.clip((events * value + share) / (events + 1), 0, 1)
        # The cell is a part of all events, and moves with them.
        variance = squares / inside**2 - 2 * squares / (inside * all_weight)
        variance = np.clip(variance + (weight**2).sum() / all_weight**2, 0, None)
        error = np.sqrt(near * (1 - near) * variance)
        return Interval(*(np.asarray(x / share) for x in (value, value - error, value + error)))
