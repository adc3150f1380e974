"""What every decorrelator shares."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.files import read_model, write_model

Floats = NDArray[np.float64]


class Decorrelator(BaseEstimator, ABC):  # type: ignore[misc]
    """Turns a score into one whose background distribution ignores the protected attributes."""

    @abstractmethod
    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from background events."""

    @abstractmethod
    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated score, in the order of the score at fixed attributes."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all that was learned, as arrays and as JSON."""

    @abstractmethod
    def _restore(self, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        """Take back what `_state` gave."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted decorrelator to a file that `unsculpt.load` reads."""
        check_is_fitted(self)
        arrays, about = self._state()
        kind = type(self).__name__
        write_model(path, arrays, {"kind": kind, "parameters": self.get_params()} | about)


def load(path: str | os.PathLike[str]) -> Decorrelator:
    """Read a decorrelator that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.
    """
    arrays, about = read_model(path)
    kinds = {kind.__name__: kind for kind in Decorrelator.__subclasses__()}
    if about["kind"] not in kinds:
        raise ValueError(
            f"{path} holds a {about['kind']!r}; this unsculpt knows {', '.join(sorted(kinds))}"
        )
    try:
        decorrelator: Decorrelator = kinds[about["kind"]](**about["parameters"])
        decorrelator._restore(arrays, about)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    return decorrelator
