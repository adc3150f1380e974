"""The error of maps that were fitted in folds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from unsculpt.decorrelators.common.folds import NEW, fold_of_each
from unsculpt.inputs import Floats, is_one_column
from unsculpt.lists import takes_lists


def _of_all(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.models_[0], method)


def _of_the_mean(folds: int) -> float:
    """Return the error of the mean of the maps over that of each: it has seen a fold more."""
    return math.sqrt((folds - 1) / folds)


class FoldErrors:
    """What a `CrossFit` knows of its error, if its models know theirs."""

    @available_if(_of_all("uncertainty"))  # type: ignore[untyped-decorator]
    @takes_lists
    def uncertainty(
        self: Any,
        scores: ArrayLike,
        protected: Any,
        *,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return the error of the map of each event's fold, as its model knows it.

        For events that no model has seen, a little less than the mean of these errors: the mean of
        the maps is about a map fitted on all events.

        Args:
            scores: as in the fit.
            protected: as in the fit.
            fold: (n,) the fold of each event, as for `transform`.
            event: (n,) the number of each event instead.
        """
        columns, _, marked = self._check(scores, self._first._along(protected))
        given = columns[:, 0] if is_one_column(scores) else columns
        table = self._table(protected)
        folds = fold_of_each(len(self.models_), len(columns), fold, event)
        errors: Floats = self._by_fold(
            lambda model, rows: model.uncertainty(given[rows], table[rows]), folds, marked
        )
        errors[folds == NEW] *= _of_the_mean(len(self.models_))
        return errors

    @available_if(_of_all("deviations"))  # type: ignore[untyped-decorator]
    def deviations(
        self: Any,
        scores: ArrayLike,
        protected: Any,
        *,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return how one standard deviation of each direction moves `transform`, (n, k).

        Each model has directions of its own: what they have in common is left out, as it is between
        a fold and the maps that were fitted on it.

        Args:
            scores: as in the fit.
            protected: as in the fit.
            fold: (n,) the fold of each event, as for `transform`.
            event: (n,) the number of each event instead.
        """
        columns, *_ = self._check(scores, self._first._along(protected))
        table = self._table(protected)
        folds = fold_of_each(len(self.models_), len(columns), fold, event)
        parts, count = [], len(self.models_)
        for k, model in enumerate(self._silent_models):
            rows = np.flatnonzero((folds == k) | (folds == NEW))
            own = model.deviations(columns[rows, 0], table[rows])
            part = np.zeros((len(columns), own.shape[1]))
            # An event that no model has seen gets the mean of the maps.
            of_new = _of_the_mean(count) / count**0.5
            part[rows] = own * np.where(folds[rows] == NEW, of_new, 1)[:, None]
            parts.append(part)
        return np.hstack(parts)
