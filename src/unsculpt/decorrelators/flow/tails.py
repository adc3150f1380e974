"""Where an attribute has few events over much of its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.attributes import Continuous, ProtectedAttributes
from unsculpt.decorrelators.common.tables import ATTRIBUTE_NODES
from unsculpt.inputs import Floats

RARE = 0.04  # a density along the coordinate, as a share of its mean
FEWEST = 50  # events beyond the start of a ramp, by their weights: fewer say too little
SHORTEST = 1 / 32  # ramp: a steeper one is a step


@dataclass(frozen=True)
class Tails:
    """What a flow gets beside the coordinates of its attributes, where these have long tails.

    Few events in a long tail hardly move a network that the bulk wants smooth, and a coordinate
    that goes by the events leaves the way there little room. So such an attribute enters the
    network by its place in its range as well, and ramps past the network, zero in the bulk and
    rising from just before the tail, can follow the events there. Without a tail there are none.

    Attributes:
        slope: of each ramp along each coordinate, (f, ramps).
        offset: a ramp is slope times coordinate minus this, between 0 and 1, (ramps,).
        tailed: which coordinates have a tail, (t,).
        across: the place in the range, on [-1, 1], at even nodes of each of these, (t, nodes).
    """

    slope: Floats
    offset: Floats
    tailed: NDArray[np.int64]
    across: Floats

    @classmethod
    def none(cls, features: int) -> Tails:
        """Return no tails."""
        nothing = np.zeros((0, len(ATTRIBUTE_NODES)))
        return cls(np.zeros((features, 0)), np.zeros(0), np.zeros(0, np.int64), nothing)

    @classmethod
    def find(cls, attributes: ProtectedAttributes, features: Floats, weight: Floats) -> Tails:
        """Find the tails of the continuous attributes in the sample of a fit."""
        nothing = cls.none(features.shape[1])
        slopes, offsets = [nothing.slope], [nothing.offset]
        across, column = {}, 0
        for attribute in attributes.attributes:
            if isinstance(attribute, Continuous):
                lower, upper = (_ramps(side * features[:, column], weight) for side in (-1, 1))
                for side, (starts, end) in ((-1, lower), (1, upper)):
                    steepness = 1 / (end - starts)
                    slope = np.zeros((features.shape[1], len(starts)))
                    slope[column] = side * steepness
                    slopes.append(slope)
                    offsets.append(steepness * starts)
                if len(lower[0]) or len(upper[0]):
                    across[column] = _across(attribute, -lower[1], upper[1])
            column += attribute.width
        return cls(
            np.hstack(slopes),
            np.concatenate(offsets),
            np.array(list(across), np.int64),
            np.vstack([nothing.across, *across.values()]),
        )

    @property
    def inputs(self) -> int:
        """How many inputs the network has."""
        return len(self.slope) + len(self.tailed)

    def widen(self, features: Floats) -> Floats:
        """Return the inputs of the network and the ramps beside them, (n, f + t + ramps)."""
        across = [
            np.interp(features[:, column], ATTRIBUTE_NODES, places)
            for column, places in zip(self.tailed, self.across, strict=True)
        ]
        ramps = np.clip(features @ self.slope - self.offset, 0, 1)
        return np.column_stack([features, *across, ramps])


def _across(attribute: Continuous, first: float, last: float) -> Floats:
    """Return the place in its range at the nodes of an attribute's coordinate.

    It stays what it is at `first` and `last`, where the ramps end, so that nothing is extrapolated
    far; a side without a tail ends with the range.
    """
    values = attribute.cdf.quantiles
    places = attribute.across(values)
    nodes = np.clip(ATTRIBUTE_NODES, first, last)
    return np.interp(nodes, attribute.features(values)[:, 0], places)


def _ramps(values: Floats, weight: Floats) -> tuple[Floats, float]:
    """Return where the ramps over the upper tail start and end, on the coordinate's [-1, 1].

    The tail starts past the middle, where the density of all that is beyond becomes RARE. More
    ramps start where a half, a quarter and so on of it are left, as long as that is enough to
    learn from, and two on the way there, where twice and four times as much is left. All end where
    a tenth of the last part is left, so that nothing is extrapolated far. They bend at nodes of
    the table.
    """
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    share = np.cumsum(np.abs(weight))
    share /= share[-1]  # not by the sum, which rounds differently: no share may exceed 1
    step: float = ATTRIBUTE_NODES[1] - ATTRIBUTE_NODES[0]

    def place(left: Floats) -> Floats:
        return np.round(np.interp(1 - left, share, values) / step) * step

    nodes = np.arange(0, 1, step)
    beyond = 1 - np.interp(nodes, values, share)
    part = next(iter(beyond[beyond < RARE * (1 - nodes) / 2]), 0.0)
    parts = []
    while _effective(weight[share > 1 - part]) >= FEWEST:
        parts.append(part)
        part /= 2
    if not parts:
        return np.zeros(0), 1.0
    left = np.array(parts)
    (end,) = place(left[-1:] / 10)
    left = left[end - place(left) >= SHORTEST]
    before = np.outer(left[:1], [4, 2])  # none if there is no tail
    return np.unique(place(np.append(before, left))), float(end)


def _effective(weight: Floats) -> float:
    """Return how many events of equal weight say as much; none if they sum to less than zero."""
    return float(max(weight.sum(), 0) ** 2 / (weight**2).sum()) if weight.any() else 0.0
