"""Random numbers of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.attributes import Continuous, ProtectedAttributes
from unsculpt.inputs import Floats, in_order_of

STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Draws:
    """Uniform random numbers that come from a seed and from what is known of the event.

    So an event has the same in any file, order and chunk. A generator that starts anew with each
    chunk would give all chunks the same few numbers.

    Attributes:
        seed: fixes them.
        known: the scores and the continuous attributes of each event, (n, c).
    """

    seed: int
    known: Floats

    @classmethod
    def of_events(
        cls, seed: int, columns: Floats, attributes: ProtectedAttributes, protected: Any
    ) -> Draws:
        """Take the scores, (n, k), and the attributes of events."""
        given = zip(attributes.attributes, in_order_of(attributes.names, protected), strict=True)
        others = [x.astype(float) for kind, x in given if isinstance(kind, Continuous)]
        return cls(seed, np.column_stack([columns, *others]))

    def uniform(self, rows: NDArray[np.intp], which: int) -> Floats:
        """Return the numbers of some events for one of their scores."""
        bits = (self.known[rows] + 0.0).view(np.uint64)  # a zero of either sign is one
        keys = np.full(len(rows), self.seed, dtype=np.uint64)
        for column in (np.uint64(which), *bits.T):
            keys = _mixed(keys + STEP ^ column)
        # Of events that agree in all that is known, the others draw from one generator.
        _, first = np.unique(keys, return_index=True)
        again = np.delete(np.arange(len(rows)), first)
        rng = np.random.default_rng([self.seed, which, crc32(bits.tobytes())])
        keys[again] = rng.integers(2**64, size=len(again), dtype=np.uint64)
        return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that share no bits with those of similar keys (Steele's SplitMix64, 2014)."""
    keys = (keys ^ keys >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ keys >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return keys ^ keys >> np.uint64(31)
