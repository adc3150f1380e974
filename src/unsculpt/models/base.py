"""A scikit-learn estimator that can be written to a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unsculpt.models.files import write_model
from unsculpt.models.restoring import model_class


class Model(BaseEstimator, ABC):  # type: ignore[misc]
    """Anything of ours that is fitted and kept.

    Attributes:
        source_: the columns of the files it was fitted on, as column names or expressions:
            `{"score": [...], "protected": [...], "background": ..., "signal": ..., "weight": ...}`;
            with the number of `events` and the `files`; None if it was fitted on arrays.
    """

    source_: dict[str, Any] | None = None

    @abstractmethod
    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all that was learned, as arrays and as JSON."""

    @abstractmethod
    def _restore(self, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        """Take back what `_state` gave."""

    def _packed(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all it takes to have the model again."""
        check_is_fitted(self)
        arrays, about = self._state()
        kind = {"kind": type(self).__name__, "parameters": self.get_params(deep=False)}
        return arrays, kind | about | {"columns": self.source_}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `unsculpt.load` reads."""
        write_model(path, *self._packed())

    def then(self, second: Any) -> Any:
        """Return this model with another on top of it, as one `Chain`.

        >>> from unsculpt import FlowDecorrelator
        >>> chain = FlowDecorrelator().then(FlowDecorrelator.paper())
        >>> len(chain.steps)
        2
        """
        return model_class("Chain")([self]).then(second)
