"""What every decorrelator shares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.models import Model

Floats = NDArray[np.float64]


class Decorrelator(Model):
    """Turns a score into one whose background distribution ignores the protected attributes."""

    @abstractmethod
    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from background events."""

    @abstractmethod
    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated score, in the order of the score at fixed attributes."""
