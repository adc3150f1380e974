"""Where an attribute has few events over much of its range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.protected import Continuous, ProtectedAttributes

Floats = NDArray[np.float64]

RARE = 0.04  # a density along the coordinate, as a share of its mean
FEWEST = 100  # events: fewer say too little to follow them
STRETCH = 6.0  # added to the length of a tail, where the whole coordinate has 2
BINS = 50


@dataclass(frozen=True)
class Tails:
    """Where the tails of the inputs of a flow begin, and what the flow makes of them.

    In a sample a handful of events in the tail weigh nothing beside the bulk, and a network that
    starts smooth leaves them as they were. So a tail is stretched, which lets the network bend
    there, and its events weigh more. Events are reweighed by their attributes alone, which
    leaves the score's distribution given the attributes what it is.

    Attributes:
        start: (2, f), where the lower and the upper tail of each input begin on [-1, 1]. At -1
            and 1 there is none.
    """

    start: Floats

    @classmethod
    def none(cls, features: int) -> Tails:
        """Return what changes nothing."""
        return cls(np.repeat([[-1.0], [1.0]], features, axis=1))

    @classmethod
    def of(cls, attributes: ProtectedAttributes, features: Floats) -> Tails:
        """Find the tails of the continuous attributes in a sample."""
        tails, column = cls.none(features.shape[1]), 0
        for attribute in attributes.attributes:
            if isinstance(attribute, Continuous):
                values = features[:, column]
                tails.start[:, column] = -_upper(-values), _upper(values)
            column += attribute.width
        return tails

    @property
    def slope(self) -> Floats:
        """How much steeper the inputs rise in their tails, (2, f)."""
        length = 1 - np.abs(self.start)
        slope: Floats = np.divide(STRETCH, length, out=np.zeros_like(length), where=length > 0)
        return slope

    def stretch(self, features: Floats) -> Floats:
        """Return the inputs with their tails stretched."""
        (low, high), (down, up) = self.start, self.slope
        below, above = np.minimum(features - low, 0), np.maximum(features - high, 0)
        return np.asarray(features + down * below + up * above)

    def weight(self, features: Floats) -> Floats:
        """Return weights for the events of the fit: in a tail, all its bins count alike."""
        weight = np.ones(len(features))
        for values, (low, high) in zip(features.T, self.start.T, strict=True):
            bin_ = np.clip(((values + 1) / 2 * BINS).astype(int), 0, BINS - 1)
            density = np.bincount(bin_, minlength=BINS)[bin_] * (BINS / len(values))
            in_tail = (values < low) | (values > high)
            weight *= np.where(in_tail, np.maximum(1, RARE / density), 1)
        return weight


def _upper(values: Floats) -> float:
    """Return where the upper tail begins: beyond it the density is below RARE of the mean."""
    places = np.linspace(0, 1, 1001)[:-1]
    beyond = 1 - np.searchsorted(np.sort(values), places, side="right") / len(values)
    rare = places[beyond < RARE * (1 - places) / 2]
    found = len(rare) > 0 and np.count_nonzero(values > rare[0]) >= FEWEST
    return float(rare[0]) if found else 1.0
