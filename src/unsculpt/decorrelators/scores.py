"""What decorrelators of scores share: each column is treated by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

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

FEWEST_EVENTS = 10

C = TypeVar("C")


class ScoreDecorrelator(Decorrelator, Generic[C]):
    """Treats one column of scores at a time.

    A method learns `attributes_`, `columns_` and `one_column_`; the checks of its input are here.
    """

    outside: Outside
    categorical: Sequence[str | int]
    attributes_: ProtectedAttributes
    columns_: list[C]
    one_column_: bool

    def _events(
        self, scores: ArrayLike, protected: Any, sample_weight: ArrayLike | None
    ) -> tuple[Floats, Floats]:
        """Check the events of a fit; return the score columns and the weights."""
        return events_of_fit(scores, protected, sample_weight, self.outside)

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

    def _shape(self, protected: Any) -> tuple[int, ...]:
        """The shape of scores that go with these attributes."""
        check_is_fitted(self)
        events = count_events(protected)
        return (events,) if self.one_column_ else (events, len(self.columns_))


def events_of_fit(
    scores: ArrayLike,
    protected: Any,
    sample_weight: ArrayLike | None,
    outside: Outside,
    name: str = "scores",
) -> tuple[Floats, Floats]:
    """Check the events of a fit; return the score columns and the weights."""
    check_outside(outside)
    columns = score_columns(scores, name)
    events, n_scores = columns.shape
    same_length(events, name, protected=count_events(protected))
    weight = event_weights(sample_weight, events, name)
    if events < FEWEST_EVENTS:
        raise ValueError(f"{name} has {events} events; a fit needs at least {FEWEST_EVENTS}")
    for i, column in enumerate(columns.T):
        not_constant(column, name if n_scores == 1 else f"{name}[:, {i}]")
    return columns, weight
