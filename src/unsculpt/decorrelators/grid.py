"""A conditional CDF tabulated over one protected attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.search import between, between_even

Floats = NDArray[np.float64]

ATTRIBUTE_NODES = np.linspace(-1, 1, 257)


@dataclass(frozen=True)
class ConditionalGrid:
    """F(score | attribute), linear between the nodes of a rectangular grid.

    A mixture of increasing curves increases: the interpolation keeps the order exactly, inverts
    exactly, and costs a few reads of memory whatever model filled the table.

    Attributes:
        attribute: nodes, increasing at equal distances, (a,).
        score: nodes, increasing, (s,).
        table: F at the nodes, (a, s), increasing along the score.
    """

    attribute: Floats
    score: Floats
    table: Floats

    def cdf(self, score: Floats, attribute: Floats) -> Floats:
        """Return F at each event; both coordinates inside the grid."""
        row, upper = between_even(self.attribute, attribute)
        column, right = between(self.score, score)
        width, table = len(self.score), self.table.ravel()
        here = row * width + column
        # At the nodes of the score before and after, on the way between those of the attribute.
        before, after = table.take(here), table[1:].take(here)
        before += upper * (table[width:].take(here) - before)
        after += upper * (table[width + 1 :].take(here) - after)
        return np.asarray(before + right * (after - before))

    def inverse(self, level: Floats, attribute: Floats) -> Floats:
        """Return the score at which F reaches each level."""
        row, upper = between_even(self.attribute, attribute)

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
