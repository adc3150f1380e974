"""The events a classifier is trained on, checked and on scales of order one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from unsculpt.inputs import (
    Floats,
    event_weights,
    not_constant,
    numbers,
    protected_columns,
    same_length,
)


@dataclass(frozen=True)
class Sample:
    """What was given, in the units a network likes.

    Attributes:
        features: (n, f), mean zero and variance one.
        centre, width: what made them so.
        names: of the features, none if they had none.
        label: position of each event's class in `classes`; 0 is background.
        classes: the labels as given, in order.
        protected: (n, a), mean zero and variance one on background, or None.
        weight: (n,).
    """

    features: Floats
    centre: Floats
    width: Floats
    names: list[str]
    label: NDArray[np.int64]
    classes: NDArray[Any]
    protected: Floats | None
    weight: Floats

    @classmethod
    def checked(cls, X: Any, y: ArrayLike, protected: Any, sample_weight: ArrayLike | None) -> Self:
        """Check the arguments of a fit."""
        names = list(getattr(X, "columns", []))
        if not all(isinstance(name, str) for name in names):
            names = []
        features = feature_table(X, names)
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        same_length(len(features), "X", y=len(labels))
        classes, label = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y is {classes[0]!r} in all {len(labels):,} events; expected two classes or more, "
                "background the first of them in order"
            )
        weight = event_weights(sample_weight, len(features), "X")
        centre, width = features.mean(axis=0), features.std(axis=0)
        constant = features.min(axis=0) == features.max(axis=0)  # rounding gives it a width
        centre[constant], width[constant] = features[0, constant], 1
        if protected is not None:
            titles, columns = protected_columns(protected)
            same_length(len(features), "X", protected=len(columns[0]))
            columns = [numbers(c, name) for c, name in zip(columns, titles, strict=True)]
            for column, name in zip(columns, titles, strict=True):
                not_constant(column[label == 0], f"{name} on background")
            table = np.column_stack(columns)
            protected = (table - table[label == 0].mean(axis=0)) / table[label == 0].std(axis=0)
        features = (features - centre) / width
        return cls(features, centre, width, names, label, classes, protected, weight)


def feature_table(X: Any, names: Sequence[str]) -> Floats:
    """Return the features as finite numbers, (n, f)."""
    table = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    for i, column in enumerate(table.T):
        numbers(column, f"X[{names[i]!r}]" if len(names) else f"X[:, {i}]")
    return np.asarray(table)
