"""What a model accepts, and what it says when it gets something else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# What columns of a bare array are called in messages.
UNNAMED = "protected"
LARGEST = 1e150


class Columns(dict[str, NDArray[Any]]):
    """Named columns, for those who have no DataFrame."""

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self)

    def __getitem__(self, which: Any) -> Any:
        """Return the column of a name, the columns of a list of names, or some rows of all."""
        if isinstance(which, str):
            return super().__getitem__(which)
        if isinstance(which, list):
            return Columns({name: self[name] for name in which})
        return Columns({name: column[which] for name, column in self.items()})


def score_columns(scores: ArrayLike, name: str) -> Floats:
    """Return the scores as finite columns, (n, k)."""
    array = np.asarray(scores)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"{name} has shape {array.shape}; expected (n,), or (n, k) for k columns")
    columns = finite(array, name)
    return columns.reshape(len(array), -1)


def protected_columns(protected: Any) -> tuple[list[str], list[NDArray[Any]]]:
    """Return the names and columns of the protected attributes.

    Takes a column, a table (n, k), or anything with named columns such as a DataFrame.
    """
    if hasattr(protected, "columns") and len(protected.columns):
        names = [str(name) for name in protected.columns]
        return names, [np.asarray(protected[name]) for name in protected.columns]
    array = np.asarray(protected)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"protected has shape {array.shape}; expected (n,) or (n, k)")
    if array.ndim == 1:
        return [str(getattr(protected, "name", None) or UNNAMED)], [array]
    return [f"{UNNAMED}[:, {i}]" for i in range(array.shape[1])], list(array.T)


def are_names(names: list[str]) -> bool:
    """Return whether the columns were named, or only numbered by `protected_columns`."""
    return names != [UNNAMED] and names[0] != f"{UNNAMED}[:, 0]"


def places_of(fitted: list[str], names: list[str]) -> list[int]:
    """Return where the named columns of a fit are now."""
    for name in fitted:
        if name not in names:
            raise ValueError(f"protected has no column {name!r}; it has {names}")
    return [names.index(name) for name in fitted]


def count_events(protected: Any) -> int:
    """Return the number of events."""
    return len(protected_columns(protected)[1][0])


def finite(column: NDArray[Any], name: str) -> Floats:
    """Return one column as finite float64 numbers."""
    try:
        if column.dtype.kind in "US":
            raise TypeError
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} holds {column.dtype} values such as {column.flat[0]!r}; expected numbers"
        ) from None
    if values.size == 0:
        raise ValueError(f"{name} is empty; expected at least one event")
    # Beyond this magnitude the difference of two values may overflow.
    if not (values.min() > -LARGEST and values.max() < LARGEST):
        bad = np.count_nonzero(~(np.abs(values) < LARGEST))
        raise ValueError(
            f"{name} is NaN or infinite in {bad:,} of {values.size:,} events (1e150 and beyond "
            "count as infinite); remove or repair those first"
        )
    return values


def same_length(expected: int, of: str = "scores", **arrays: int) -> None:
    """Refuse arrays whose lengths differ from that of the first."""
    for name, length in arrays.items():
        if length != expected:
            raise ValueError(
                f"{name} has {length:,} events but {of} has {expected:,}; pass one entry per event"
            )


def weight_column(sample_weight: ArrayLike | None, events: int, of: str = "scores") -> Floats:
    """Return the weights, one each if none are given."""
    if sample_weight is None:
        return np.ones(events)
    weight = finite(np.asarray(sample_weight), "sample_weight")
    if weight.ndim != 1:
        raise ValueError(f"sample_weight has shape {weight.shape}; expected (n,)")
    same_length(events, of, sample_weight=len(weight))
    return weight


def event_weights(sample_weight: ArrayLike | None, events: int, of: str = "scores") -> Floats:
    """Return the weights, one each if none are given; their sum is positive."""
    weight = weight_column(sample_weight, events, of)
    total = weight.sum()
    if total <= 0:
        raise ValueError(
            f"sample_weight sums to {f'{total:g}' if total else 'zero'} over {events:,} events; "
            "expected a positive total"
        )
    return weight


def not_constant(values: Floats, name: str) -> None:
    """Refuse a column that has one value only."""
    if values.min() == values.max():
        raise ValueError(
            f"{name} is {values.flat[0]:g} in all {values.size:,} events; "
            "there is nothing to decorrelate in a constant"
        )
