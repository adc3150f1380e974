"""Decorrelators of scores: each column becomes its own conditional CDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.blocks import in_blocks
from unsculpt.decorrelators.protected import Outside, ProtectedAttributes, check_outside
from unsculpt.models.inputs import (
    Floats,
    count_events,
    event_weights,
    not_constant,
    same_length,
    score_columns,
)

FEWEST_EVENTS = 20


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


class ColumnDecorrelator(Decorrelator, Generic[C]):
    """Replaces every score by its conditional CDF, one column at a time.

    A method learns `attributes_`, `columns_` and `one_column_`; what users call is here.
    """

    outside: Outside
    categorical: Sequence[str | int]
    attributes_: ProtectedAttributes
    columns_: list[C]
    one_column_: bool

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

    def _events(
        self, scores: ArrayLike, protected: Any, sample_weight: ArrayLike | None
    ) -> tuple[Floats, Floats]:
        """Check the events of a fit; return the score columns and the weights."""
        check_outside(self.outside)
        columns = score_columns(scores, "scores")
        events, n_scores = columns.shape
        same_length(events, protected=count_events(protected))
        weight = event_weights(sample_weight, events)
        if events < FEWEST_EVENTS:
            raise ValueError(f"scores has {events} events; a fit needs at least {FEWEST_EVENTS}")
        for i, column in enumerate(columns.T):
            not_constant(column, "scores" if n_scores == 1 else f"scores[:, {i}]")
        return columns, weight

    def _apply(
        self,
        method: Callable[[C], Callable[[Floats, Floats], Floats]],
        values: ArrayLike,
        protected: Any,
        name: str = "scores",
    ) -> Floats:
        """Check the input, apply a method of each column and mark what is outside."""
        check_is_fitted(self)
        one_column = np.ndim(values) == 1
        columns = score_columns(values, name)
        events, n_scores = columns.shape
        if n_scores != len(self.columns_):
            raise ValueError(f"{name} has {n_scores} columns; the fit had {len(self.columns_)}")
        same_length(events, protected=count_events(protected))
        features, marked = self.attributes_.features(protected, self.outside)
        out = np.column_stack(
            [
                in_blocks(method(fitted), column, features)
                for fitted, column in zip(self.columns_, columns.T, strict=True)
            ]
        )
        out[marked] = np.nan
        return out[:, 0] if one_column else out

    def _seen(self, levels: Floats, protected: Any) -> Floats:
        """Return the scores at these levels, kept to the range of the fit."""
        low, high = np.array([column.range for column in self.columns_]).T
        scores = self.inverse_transform(levels, protected)
        return np.clip(scores, *((low[0], high[0]) if self.one_column_ else (low, high)))

    def _shape(self, protected: Any) -> tuple[int, ...]:
        """The shape of scores that go with these attributes."""
        check_is_fitted(self)
        events = count_events(protected)
        return (events,) if self.one_column_ else (events, len(self.columns_))
