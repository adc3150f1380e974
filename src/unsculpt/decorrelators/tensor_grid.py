"""A conditional CDF tabulated over several protected attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from unsculpt.decorrelators.axes import positions_of
from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import reach
from unsculpt.decorrelators.protected import ProtectedAttributes

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

    @cached_property
    def _interpolate(self) -> RegularGridInterpolator:
        return RegularGridInterpolator((*self.attributes, self.score), self.table)

    def cdf(self, score: Floats, positions: Floats) -> Floats:
        """Return F at each event; positions is (n, axes)."""
        return np.asarray(self._interpolate(np.column_stack([positions, score])))

    def inverse(self, level: Floats, positions: Floats) -> Floats:
        """Return the score at which F reaches each level."""
        lower, upper = [], []
        for nodes, x in zip(self.attributes, positions.T, strict=True):
            left = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
            lower.append(left)
            upper.append((x - nodes[left]) / (nodes[left + 1] - nodes[left]))
        corners = []
        for corner in product((0, 1), repeat=len(lower)):
            share = np.prod([u if c else 1 - u for u, c in zip(upper, corner, strict=True)], axis=0)
            corners.append((share, tuple(x + c for x, c in zip(lower, corner, strict=True))))

        def at(column: NDArray[np.int64]) -> Floats:
            return np.asarray(sum(share * self.table[(*rows, column)] for share, rows in corners))

        return reach(at, level, self.score)


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
