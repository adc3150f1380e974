"""One score column of any method whose conditional CDF is a table over one attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import ConditionalGrid

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableColumn:
    """The conditional CDF of one score as a grid over the coordinates of score and attribute.

    Attributes:
        coordinate: maps the score to [0, 1].
        grid: the conditional CDF over that and the one feature of the attribute.
    """

    coordinate: EmpiricalCDF
    grid: ConditionalGrid

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attribute)."""
        return self.grid.cdf(self.coordinate(score), features[:, 0])

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        return self.coordinate.inverse(self.grid.inverse(level, features[:, 0]))
