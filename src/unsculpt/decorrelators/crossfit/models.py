"""The model of a fold: a decorrelator, or a classifier with one on top."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.chain import models_of
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.inputs import Columns, Floats


def train(
    classifier: Any, label: NDArray[Any], features: Any, protected: Columns, weight: Floats
) -> None:
    """Train a classifier on the events of the other folds."""
    # Text is no trouble to a classifier that does not look at what is protected.
    looked_at = protected if classifier.penalty is not None else None
    classifier.fit(features, label, protected=looked_at, sample_weight=weight)


def silent(model: Any) -> Any:
    """Return a copy that says nothing of what is outside its own range."""
    twin = copy.copy(model)
    if isinstance(twin, Decorrelator):
        twin.outside = None  # type: ignore[assignment]
    return twin


def first_of(model: Any) -> Decorrelator:
    """Return the first decorrelator of a model."""
    return next(part for part in models_of([model]) if isinstance(part, Decorrelator))


def joined(models: Sequence[Any]) -> ProtectedAttributes:
    """Return the attributes of all models as one range."""
    return ProtectedAttributes.joined([first_of(model).attributes_ for model in models])
