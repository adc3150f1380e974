"""Labels of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import as_array, same_length


def distinct(labels: ArrayLike, events: int) -> list[Any]:
    """Return the distinct labels, background first."""
    classes: list[Any] = np.unique(label_column(labels, events)).tolist()
    if len(classes) < 2:
        raise ValueError(
            f"labels is {classes[0]!r} in all {events:,} events; a base by class needs two "
            "classes. To fit on background alone, leave labels out"
        )
    return classes


def places(labels: ArrayLike | None, classes: list[Any] | None, events: int) -> NDArray[np.int32]:
    """Return the place of each label among the classes; zeros without labels."""
    if labels is None:
        return np.zeros(events, dtype=np.int32)
    if classes is None:
        raise ValueError("labels were given, but the fit had none; fit with labels first")
    array = label_column(labels, events)
    unknown = ~np.isin(array, classes)
    if unknown.any():
        raise ValueError(
            f"labels has {unknown.sum():,} events of a class that is not among {classes}"
        )
    return np.searchsorted(classes, array).astype(np.int32)


def label_column(labels: ArrayLike, events: int) -> NDArray[Any]:
    """Return the labels, one for each event."""
    array = as_array(labels, "labels")
    if array.ndim != 1:
        raise ValueError(f"labels has shape {array.shape}; expected (n,)")
    same_length(events, "features", labels=len(array))
    missing = sum(map(_is_missing, array.tolist()))
    if missing:
        raise ValueError(
            f"labels is missing (NaN or None) in {missing:,} of {events:,} events; remove those"
        )
    return array


def _is_missing(label: Any) -> bool:
    # NaN does not equal itself, and what pandas has for it does not say whether it does.
    same = label == label
    return label is None or not isinstance(same, bool | np.bool_) or not same
