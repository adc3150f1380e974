"""A conditional CDF tabulated over one protected attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConditionalGrid:
    """F(score | attribute), linear between the nodes of a rectangular grid.

    A mixture of increasing curves increases: the interpolation keeps the order exactly, inverts
    exactly, and costs a few reads of memory whatever model filled the table.

    Attributes:
        attribute: nodes, increasing, (a,).
        score: nodes, increasing, (s,).
        table: F at the nodes, (a, s), increasing along the score.
    """

    attribute: Floats
    score: Floats
    table: Floats

    @cached_property
    def _interpolate(self) -> RegularGridInterpolator:
        return RegularGridInterpolator((self.attribute, self.score), self.table)

    def cdf(self, score: Floats, attribute: Floats) -> Floats:
        """Return F at each event; both coordinates inside the grid."""
        return np.asarray(self._interpolate(np.column_stack([attribute, score])))

    def inverse(self, level: Floats, attribute: Floats) -> Floats:
        """Return the score at which F reaches each level."""
        nodes = self.attribute
        row = np.clip(np.searchsorted(nodes, attribute, side="right") - 1, 0, len(nodes) - 2)
        upper = (attribute - nodes[row]) / (nodes[row + 1] - nodes[row])

        def at(column: NDArray[np.int64]) -> Floats:
            here = (1 - upper) * self.table[row, column] + upper * self.table[row + 1, column]
            return np.asarray(here)

        return reach(at, level, self.score)


def reach(at: Callable[[NDArray[np.int64]], Floats], level: Floats, nodes: Floats) -> Floats:
    """Return where increasing curves, given at the nodes, reach each level, by bisection."""
    low = np.zeros(len(level), dtype=np.int64)
    high = np.full(len(level), len(nodes) - 1)
    for _ in range(int(np.ceil(np.log2(len(nodes))))):
        middle = (low + high) // 2
        below = at(middle) <= level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    low = np.minimum(low, len(nodes) - 2)
    start, end = at(low), at(low + 1)
    # Where the curve is flat, any place of the stretch will do: take its start.
    rise = end - start
    fraction = np.divide(level - start, rise, out=np.zeros_like(rise), where=rise > 0)
    return nodes[low] + np.clip(fraction, 0, 1) * (nodes[low + 1] - nodes[low])
