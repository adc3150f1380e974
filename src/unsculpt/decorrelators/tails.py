"""Where an attribute has few events over much of its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.grid import ATTRIBUTE_NODES
from unsculpt.decorrelators.protected import Continuous, ProtectedAttributes

Floats = NDArray[np.float64]

RARE = 0.04  # a density along the coordinate, as a share of its mean
FEWEST = 100  # events: fewer say too little
LEFT = (1, 1 / 2, 1 / 4, 1 / 8)  # how much of a tail lies beyond the start of each ramp
HEIGHT = 3.0  # of a ramp at its end
SHORTEST = 0.05  # ramp: a steeper one is a step


@dataclass(frozen=True)
class Tails:
    """Ramps over the tails of a flow's inputs: zero in the bulk, rising from there to the end.

    Few events in a long tail hardly move a network that the bulk wants smooth. With ramps beside
    its inputs a flow can follow them, and without a tail there are none.

    Attributes:
        slope: of each ramp along each input, (f, ramps).
        offset: where it begins, times its slope, (ramps,).
    """

    slope: Floats
    offset: Floats

    @classmethod
    def none(cls, features: int) -> Tails:
        """Return no ramps."""
        return cls(np.zeros((features, 0)), np.zeros(0))

    @classmethod
    def of(cls, attributes: ProtectedAttributes, features: Floats, weight: Floats) -> Tails:
        """Find the tails of the continuous attributes in the sample of a fit."""
        slopes, offsets, column = [np.zeros((features.shape[1], 0))], [np.zeros(0)], 0
        for attribute in attributes.attributes:
            if isinstance(attribute, Continuous):
                for side in (-1, 1):
                    start = _starts(side * features[:, column], np.abs(weight))
                    slope = np.zeros((features.shape[1], len(start)))
                    slope[column] = side * HEIGHT / (1 - start)
                    slopes.append(slope)
                    offsets.append(HEIGHT * start / (1 - start))
            column += attribute.width
        return cls(np.hstack(slopes), np.concatenate(offsets))

    def widen(self, features: Floats) -> Floats:
        """Return the inputs with the ramps beside them, (n, f + ramps)."""
        return np.hstack([features, np.maximum(features @ self.slope - self.offset, 0)])


def _starts(values: Floats, weight: Floats) -> Floats:
    """Return where the ramps over the upper tail begin, on the coordinate's [-1, 1].

    The tail begins past the middle, where the density of all that is beyond becomes RARE. Ramps
    begin at nodes of the table, which then is straight where they are.
    """
    order = np.argsort(values)
    values, share = values[order], np.cumsum(weight[order]) / weight.sum()
    step = 2 / (ATTRIBUTE_NODES - 1)
    nodes = np.arange(0, 1, step)
    beyond = 1 - np.interp(nodes, values, share)
    (rare,) = np.nonzero(beyond < RARE * (1 - nodes) / 2)
    if not len(rare) or np.sum(values > nodes[rare[0]]) < FEWEST:
        return np.zeros(0)
    wanted = np.interp(1 - beyond[rare[0]] * np.array(LEFT), share, values)
    starts = np.unique(np.round(wanted / step)) * step
    return np.asarray(starts[starts <= 1 - SHORTEST])
