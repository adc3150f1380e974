"""Where the background of a fit lies in its protected attributes, as a few weighted points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays

HALVINGS = 8  # of the events of a category, so that there are up to 256 points of each
MOST_EVENTS = 2**18  # more would move the points by less than they are apart


class Background(NamedTuple):
    """Points that stand for the events of a fit.

    Attributes:
        features: coordinates of the attributes, (k, f).
        weight: the share of the background at each, (k,), not negative.
    """

    features: Floats
    weight: Floats

    @classmethod
    def measure(
        cls, attributes: ProtectedAttributes, features: Floats, weight: Floats
    ) -> Background:
        """Halve the events of each category again and again, along the attribute they spread most.

        A point is the mean of the events of a part, and counts by the sum of their weights.
        """
        some = slice(None, None, -(-len(features) // MOST_EVENTS))
        features, weight = features[some], weight[some]
        category, total = attributes.category(features)
        parts = [rows for k in range(total) if len(rows := np.flatnonzero(category == k))]
        for _ in range(HALVINGS):
            parts = [half for rows in parts for half in _halves(features, weight, rows)]
        size = np.abs(weight)
        points = [np.average(features[rows], axis=0, weights=size[rows]) for rows in parts]
        return cls.from_points(np.stack(points), np.array([weight[rows].sum() for rows in parts]))

    @classmethod
    def from_points(cls, features: Floats, weight: Floats) -> Background:
        """Keep the points whose weight is positive: where negative ones prevail there is nothing.

        With them the mean of increasing functions need not increase.
        """
        kept = weight > 0
        return cls(features[kept], weight[kept] / weight[kept].sum())

    def state(self) -> Arrays:
        """Return it as arrays."""
        return {"background.features": self.features, "background.weight": self.weight}

    @classmethod
    def restore(cls, arrays: Arrays) -> Background | None:
        """Take back what `state` gave; None of a file that is older."""
        if "background.weight" not in arrays:
            return None
        return cls(arrays["background.features"], arrays["background.weight"])


def _halves(features: Floats, weight: Floats, rows: np.ndarray) -> list[np.ndarray]:
    """Split events where half of their weight is, unless they are in one place or would cancel."""
    here = features[rows]
    along = here[:, np.ptp(here, axis=0).argmax()]
    order = np.argsort(along, kind="stable")
    done = np.cumsum(np.abs(weight[rows])[order])
    first = int(np.searchsorted(done, done[-1] / 2)) + 1
    if np.ptp(along) == 0 or first >= len(rows):
        return [rows]
    halves = [rows[order[:first]], rows[order[first:]]]
    # A half in which negative weights prevail would be left out, and what it takes away with it.
    return halves if all(weight[half].sum() > 0 for half in halves) else [rows]
