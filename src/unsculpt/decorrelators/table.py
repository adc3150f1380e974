"""The scikit-learn face of every decorrelator."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from unsculpt.decorrelators.crossfit import CrossFit
from unsculpt.inputs import (
    Columns,
    Floats,
    as_array,
    check_list,
    named_columns,
    same_length,
    weight_column,
)
from unsculpt.saving import Arrays, Json, Model, packed, unpacked


class TableDecorrelator(TransformerMixin, Model):  # type: ignore[misc]
    """Decorrelate the columns of one table from others of its columns.

    A scikit-learn transformer around any decorrelator, for a `Pipeline`, a `ColumnTransformer` or
    a grid search. The protected columns are taken out of the table; all others are the scores (or
    features) and come back decorrelated.

    Args:
        decorrelator: any decorrelator; a copy of it is fitted, and it stays as it is. With a
            `CrossFit`, `fit_transform` transforms every row by a model that was not fitted on it;
            the number of the row tells its fold. `transform` is for rows that are in none of the
            fits.
        protected: the protected columns, by name or position.
        background: the label of background in `y`, on which alone the decorrelator is fitted.
            None fits it on all rows.

    Attributes:
        decorrelator_: the fitted decorrelator.
        n_features_in_: the number of columns of the table.

    >>> import pandas as pd
    >>> from unsculpt import FlowDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 100, seed=1)
    >>> table = pd.DataFrame({"tagger": toy.score, "mass": toy.protected})
    >>> flat = TableDecorrelator(FlowDecorrelator(), protected=["mass"], background=0)
    >>> flat.set_output(transform="pandas").fit_transform(table, toy.label).columns.tolist()
    ['tagger']
    """

    _renamed: ClassVar = {"inner": "decorrelator"}

    def __init__(
        self, decorrelator: Any, protected: Sequence[str | int], background: Any = None
    ) -> None:
        self.decorrelator = decorrelator
        self.protected = protected
        self.background = background

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from the rows of background.

        Args:
            X: (n, columns), an array or a table with named columns.
            y: (n,) labels, needed if `background` is one of them.
            sample_weight: (n,), negative weights included.
        """
        check_list(self.protected, "protected")
        columns = self._columns(X, reset=True)
        where = [self._position(column) for column in self.protected]
        if not 0 < len(set(where)) < len(columns):
            raise ValueError(
                f"protected is {list(self.protected)} of a table with {len(columns)} columns; "
                "expected at least one column to protect and one to decorrelate"
            )
        weight = weight_column(sample_weight, len(columns[0]), "X")
        rows = np.ones(len(columns[0]), dtype=bool)
        if self.background is not None:
            rows = self._background_rows(y, len(columns[0]))
            columns, weight = [column[rows] for column in columns], weight[rows]
        fitted = deepcopy(self.decorrelator)
        # In folds a row is an event, whatever its label.
        event = {"event": np.flatnonzero(rows)} if isinstance(fitted, CrossFit) else {}
        fitted.fit(*self._split(columns, where), sample_weight=weight, **event)
        self.decorrelator_, self.protected_ = fitted, where
        return self

    def fit_transform(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Floats:
        """Learn from the rows of background, and return all rows decorrelated.

        Around a `CrossFit` no row is transformed by a model that has seen it; `transform` then
        takes its rows for new, as that of scikit-learn's `TargetEncoder` does.

        Args:
            X: the table, protected columns included.
            y: (n,) the labels, which tell background if `background` is set.
            sample_weight: (n,), negative weights included.
        """
        self.fit(X, y, sample_weight)
        return self._transformed(X, own=True)

    def transform(self, X: Any) -> Floats:
        """Return the columns that are not protected, decorrelated, (n, columns).

        Args:
            X: the table, protected columns included.
        """
        check_is_fitted(self)
        return self._transformed(X, own=False)

    def _transformed(self, X: Any, *, own: bool) -> Floats:
        columns = self._columns(X, reset=False)
        folds = own and isinstance(self.decorrelator_, CrossFit)
        event = {"event": np.arange(len(columns[0]))} if folds else {}
        flat: Floats = self.decorrelator_.transform(*self._split(columns, self.protected_), **event)
        return flat[:, None] if flat.ndim == 1 else flat

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that are not protected.

        Args:
            input_features: the names of all columns; those of the fit if not given.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.asarray(np.delete(names, self.protected_))

    def _columns(self, X: Any, *, reset: bool) -> list[NDArray[Any]]:
        if hasattr(X, "columns"):
            # Column by column: a protected category may be text.
            validate_data(self, X, reset=reset, skip_check_array=True)
            table = named_columns(X) or {}
            return [as_array(values, name) for name, values in table.items()]
        return list(
            validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_min_samples=2 if reset else 1,
                ensure_min_features=2 if reset else 1,
            ).T
        )

    def _position(self, column: str | int) -> int:
        names: list[Any] = list(getattr(self, "feature_names_in_", []))
        if column in names:
            return names.index(column)
        total: int = self.n_features_in_
        if isinstance(column, int | np.integer) and -total <= column < total:
            return int(column) % total
        has = names or f"{total} columns without names"
        raise ValueError(f"protected names {column!r}, but the table has {has}")

    def _split(self, columns: list[NDArray[Any]], where: list[int]) -> tuple[Any, Any]:
        """Return the scores and the protected attributes as a decorrelator takes them."""
        scores = [column for i, column in enumerate(columns) if i not in where]
        names = getattr(self, "feature_names_in_", None)
        attributes = [columns[i] for i in where]
        protected = (
            np.column_stack(attributes)
            if names is None
            else Columns((str(names[i]), columns[i]) for i in where)
        )
        return (scores[0] if len(scores) == 1 else np.column_stack(scores)), protected

    def _background_rows(self, y: ArrayLike | None, events: int) -> NDArray[np.bool_]:
        if y is None:
            raise ValueError(f"background is {self.background!r}; pass the labels as y")
        label = as_array(y, "y")
        same_length(events, "X", y=len(label))
        rows = np.asarray(label == self.background)
        if not rows.any():
            raise ValueError(
                f"y has no {self.background!r}, the label of background; it holds "
                f"{np.unique(label).tolist()[:10]}"
            )
        return rows

    def _state(self) -> tuple[Arrays, Json]:
        arrays, fitted = packed(self.decorrelator_, "inner")
        names = getattr(self, "feature_names_in_", np.array([])).tolist()
        return arrays, {
            "parameters": self.get_params(deep=False) | {"decorrelator": None},
            "inner": fitted,
            "protected": self.protected_,
            "columns_in": [self.n_features_in_, names],
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.decorrelator_ = unpacked(arrays, metadata["inner"], "inner")
        self.decorrelator, self.protected_ = deepcopy(self.decorrelator_), metadata["protected"]
        self.n_features_in_, names = metadata["columns_in"]
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
