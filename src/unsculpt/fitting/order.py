"""In which order the members see the events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

Rows = Int[np.ndarray, "orders n"]


class EventOrder:
    """Splits off held-out events and shuffles the others anew for every epoch, on the host.

    One seed gives every member an order of its own, or one to each group of members. A seed for
    each member gives members of the same seed the same order: they are then comparable event by
    event, an order does not depend on who else is trained, and there are fewer to draw.

    Attributes:
        held_out: rows kept from training, (orders, h).
        first: the other rows in the order of the first epoch, (orders, n).
        follow: which order each member follows; None where each has its own.
    """

    def __init__(
        self,
        seed: int | Sequence[int] | NDArray[np.integer],
        members: int,
        events: int,
        held: int,
        orders: int | None = None,
    ) -> None:
        self.follow: NDArray[np.int32] | None = None
        if isinstance(seed, int | np.integer):
            self._sources, orders = [np.random.default_rng(seed)], orders or members
            if orders < members:
                self.follow = (np.arange(members) % orders).astype(np.int32)
        else:
            if len(seed) != members:
                raise ValueError(f"seed has {len(seed)} entries; expected one, or {members}")
            seeds, follow = np.unique(seed, return_inverse=True)
            self._sources, orders = [np.random.default_rng(s) for s in seeds], 1
            self.follow = follow.astype(np.int32)
        self._rows = [np.tile(np.arange(events, dtype=np.int32), (orders, 1))] * len(self._sources)
        rows = self.draw()
        self.held_out, self.first = rows[:, :held], rows[:, held:]
        self._rows = np.split(self.first, len(self._sources))

    @property
    def events(self) -> int:
        """How many events a member trains on."""
        return int(self.first.shape[1])

    def draw(self) -> Rows:
        """Return the next order of the events to train on."""
        pairs = zip(self._sources, self._rows, strict=True)
        return np.concatenate([source.permuted(rows, axis=1) for source, rows in pairs])
