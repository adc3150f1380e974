"""Decorrelators of scores: each column becomes its own conditional CDF."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.decorrelators.scores import ScoreDecorrelator
from unsculpt.models.inputs import Floats, score_columns


class Column(Protocol):
    """The fitted conditional CDF of one score."""

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""


C = TypeVar("C", bound=Column)


class ColumnDecorrelator(ScoreDecorrelator[C]):
    """Replaces every score by its conditional CDF, one column at a time."""

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the conditional CDF of each score, on [0, 1]."""
        return self._apply(lambda column: column.cdf, scores, protected)

    def inverse_transform(self, levels: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `levels`."""
        columns = score_columns(levels, "levels")
        low, high = columns.min(), columns.max()
        if low < 0 or high > 1:
            raise ValueError(
                f"levels runs from {low:g} to {high:g}; expected decorrelated scores on [0, 1]"
            )
        return self._apply(lambda column: column.inverse, levels, protected, "levels")

    def threshold(self, efficiency: float, protected: Any) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        Never beyond the scores of the fit: a smaller efficiency than they resolve gives the
        largest of them.
        """
        if not 0 < efficiency < 1:
            raise ValueError(f"efficiency is {efficiency}; expected a number between 0 and 1")
        return self._seen(np.full(self._shape(protected), 1 - efficiency), protected)

    def _seen(self, levels: Floats, protected: Any) -> Floats:
        """Return the scores at these levels, kept to the range of the fit."""
        low, high = np.array([column.range for column in self.columns_]).T
        scores = self.inverse_transform(levels, protected)
        return np.clip(scores, *((low[0], high[0]) if self.one_column_ else (low, high)))
