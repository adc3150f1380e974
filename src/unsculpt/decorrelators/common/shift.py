"""Decorrelators that subtract from a score what the attributes say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats


class Shift(ABC):
    """What is subtracted from one score: it moves a distribution and cannot change its width."""

    @abstractmethod
    def __call__(self, features: Floats) -> Floats:
        """Return the shift at each value of the attributes."""

    @abstractmethod
    def graph(self, graph: Graph, features: Value) -> Value:
        """Return the shift as steps of a graph."""

    def forward(self, score: Floats, features: Floats) -> Floats:
        """Return the shifted score."""
        return score - self(features)

    def inverse(self, score: Floats, features: Floats) -> Floats:
        """Return the score before the shift."""
        return score + self(features)


S = TypeVar("S", bound=Shift)


class ShiftDecorrelator(Decorrelator, Generic[S]):
    """The new score is the old one minus a function of the protected attributes.

    Attributes:
        shifts_: the shift of each score.
    """

    shifts_: list[S]

    @property
    def n_scores_(self) -> int:
        """How many scores the fit had."""
        return len(self.shifts_)

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the shifted score: the order at fixed attributes is the old one.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return self._each([shift.forward for shift in self.shifts_], scores, protected)

    def inverse_transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `scores`.

        Args:
            scores: shifted scores, as `transform` returns them.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return self._each([shift.inverse for shift in self.shifts_], scores, protected)

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        features, mark = self.attributes_.graph(graph, protected, self.outside)
        flat = [
            s - shift.graph(graph, features) for shift, s in zip(self.shifts_, scores, strict=True)
        ]
        return flat if mark is None else [score + mark for score in flat]
