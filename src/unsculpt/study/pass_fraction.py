"""How evenly background passes a cut at every mass: χ² per bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats, Mask

FEWEST = 25.0  # passing events that a bin should expect


def chi2_per_bin(mass: Floats, passes: Mask, bins: Floats, weight: Floats | None = None) -> float:
    """Return how far the pass fraction is from the same everywhere; 1 for a random selection.

    The mean square deviation of the passing events from their expectation, in standard deviations,
    over bins of which sparse ones are merged: on 1/JSD a few of these decide. As the expectation
    comes from the same events the sum is over one bin less; with a single bin it is NaN.
    """
    weight = np.ones(len(mass)) if weight is None else weight
    passing, total, squares = (
        np.histogram(mass, bins, weights=w)[0] for w in (weight * passes, weight, weight**2)
    )
    share = passing.sum() / total.sum()
    # Weights that differ are worth fewer events than there are.
    events = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
    first = merge_sparse(share * events)
    if len(first) == 1:
        return float("nan")
    passing, total, squares = (np.add.reduceat(x, first) for x in (passing, total, squares))
    chi2 = np.sum((passing - share * total) ** 2 / (share * (1 - share) * squares))
    return float(chi2 / (len(first) - 1))


def merge_sparse(expected: Floats, fewest: float = FEWEST) -> NDArray[np.intp]:
    """Return the first bin of each group of neighbours that together expect enough events."""
    first, content = [0], 0.0
    for i, more in enumerate(expected):
        if content >= fewest:
            first.append(i)
            content = 0.0
        content += more
    # What is left at the end joins the last group.
    return np.array(first[:-1] if content < fewest and len(first) > 1 else first)
