"""A conditional CDF tabulated over several protected attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.axes import positions_of
from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import reach
from unsculpt.decorrelators.protected import ProtectedAttributes
from unsculpt.decorrelators.search import between

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TensorGrid:
    """F(score | attributes), linear between the nodes along every axis.

    Attributes:
        attributes: nodes of each axis, increasing.
        score: nodes, increasing, (s,).
        table: F at the nodes, (..., s), increasing along the score.
    """

    attributes: list[Floats]
    score: Floats
    table: Floats

    def cdf(self, score: Floats, positions: Floats) -> Floats:
        """Return F at each event; positions is (n, axes)."""
        cells = _corners([*self.attributes, self.score], [*positions.T, score])
        return np.asarray(sum(share * self.table[corner] for share, corner in cells))

    def inverse(self, level: Floats, positions: Floats) -> Floats:
        """Return the score at which F reaches each level."""
        cells = list(_corners(self.attributes, list(positions.T)))

        def at(column: NDArray[np.int64]) -> Floats:
            return np.asarray(sum(share * self.table[(*rows, column)] for share, rows in cells))

        return reach(at, level, self.score)


def _corners(
    nodes: Sequence[Floats], positions: Sequence[Floats]
) -> Iterator[tuple[Floats, tuple[NDArray[np.int64], ...]]]:
    """Yield each corner of the cells that events lie in, and its share in what is between."""
    places = [between(axis, x) for axis, x in zip(nodes, positions, strict=True)]
    for corner in product((0, 1), repeat=len(places)):
        sides = list(zip(places, corner, strict=True))
        share = np.prod([x if side else 1 - x for (_, x), side in sides], axis=0)
        yield share, tuple(left + side for (left, _), side in sides)


@dataclass(frozen=True)
class TensorColumn:
    """The conditional CDF of one score as a grid over its coordinate and several attributes.

    Attributes:
        coordinate: maps the score to [0, 1].
        grid: the conditional CDF over that and the attributes.
        attributes: say where an event lies on the grid.
    """

    coordinate: EmpiricalCDF
    grid: TensorGrid
    attributes: ProtectedAttributes

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""
        return self.grid.cdf(self.coordinate(score), positions_of(self.attributes, features))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        return self.coordinate.inverse(
            self.grid.inverse(level, positions_of(self.attributes, features))
        )
