"""Decorrelators that subtract from a score what the attributes say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from numpy.typing import ArrayLike

from unsculpt.decorrelators.scores import ScoreDecorrelator
from unsculpt.models.inputs import Floats


class Shift(Protocol):
    """What is subtracted from one score."""

    def __call__(self, features: Floats) -> Floats:
        """Return the shift at each value of the attributes."""


S = TypeVar("S", bound=Shift)


class ShiftDecorrelator(ScoreDecorrelator[S]):
    """The new score is the old one minus a function of the protected attributes.

    A shift moves a distribution and cannot change its width: it flattens one property of it, the
    one that it was fitted to.
    """

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the shifted score: the order at fixed attributes is the old one."""
        return self._apply(_minus, scores, protected)

    def inverse_transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `scores`."""
        return self._apply(_plus, scores, protected)


def _minus(shift: Shift) -> Callable[[Floats, Floats], Floats]:
    return lambda score, features: score - shift(features)


def _plus(shift: Shift) -> Callable[[Floats, Floats], Floats]:
    return lambda score, features: score + shift(features)
