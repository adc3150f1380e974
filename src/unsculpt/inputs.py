"""What arrays, tables and weights we accept, and what we say when we get something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)

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
        """Return the column of a name, or some rows of all columns."""
        if isinstance(which, str):
            return super().__getitem__(which)
        return Columns({name: column[which] for name, column in self.items()})


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return anything array-like as an array; refuse one that hides some of its values."""
    try:
        array = np.asanyarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} cannot be read as an array ({error}); pass one value per event, none missing"
        ) from None
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        if hidden.any():
            raise ValueError(
                f"{name} is masked in {_events_with(hidden)}; leave those out, or fill them with "
                "what they should be"
            )
        array = array.data
    return np.asarray(array)


def _events_with(entries: Mask) -> str:
    """Return how many events have one of these entries, in words."""
    entries = np.atleast_1d(entries)
    events = np.asarray(entries.any(axis=tuple(range(1, entries.ndim))))
    return f"{events.sum():,} of {len(events):,} events"


def numbers(values: Any, name: str) -> Floats:
    """Return finite float64 numbers, in the shape they came in."""
    array = as_array(values, name)
    if not array.size:
        return np.empty(array.shape)
    try:
        if array.dtype.kind in "USVcmM":
            raise TypeError
        floats = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        kind, first = array.dtype, array.ravel()[:1].tolist()[0]
        what = "text" if kind.kind in "US" else f"{kind} values"
        raise ValueError(f"{name} holds {what} such as {first!r}; expected numbers") from None
    # Beyond this magnitude the difference of two values may overflow.
    if not (floats.min() > -LARGEST and floats.max() < LARGEST):
        bad = _events_with(~(np.abs(floats) < LARGEST))
        raise ValueError(
            f"{name} is NaN or infinite in {bad} ({LARGEST:g} and beyond count as infinite); "
            "remove or repair those first"
        )
    return floats


def column(values: Any, name: str, length: int | None = None, of: str = "scores") -> Floats:
    """Return one finite number per event, (n,); as many as `of` has, if that is known."""
    array = numbers(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; expected one column (n,)")
    if length is not None:
        same_length(length, of, **{name: len(array)})
    return array


def none_missing(column: NDArray[Any], name: str, what: str = "events") -> None:
    """Refuse categories that are missing: None, NaN and their like."""
    # The values that are not equal to themselves.
    missing = np.array([value is None or (value == value) is not True for value in column.tolist()])
    if missing.any():
        raise ValueError(
            f"{name} is missing in {missing.sum():,} of {len(column):,} {what}; "
            "remove those or give them a category"
        )


def score_columns(scores: Any, name: str) -> Floats:
    """Return the scores as finite columns, (n, k)."""
    table = named_columns(scores)
    if table is not None:
        first = next(iter(table))
        events = len(as_array(table[first], first))
        return np.column_stack([column(x, key, events, first) for key, x in table.items()])
    array = as_array(scores, name)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"{name} has shape {array.shape}; expected (n,), or (n, k) for k columns")
    return numbers(array, name).reshape(len(array), *array.shape[1:] or (1,))


def is_one_column(scores: Any) -> bool:
    """Return whether these are one score, (n,), rather than a table of them."""
    return named_columns(scores) is None and np.ndim(scores) == 1


def named_columns(table: Any) -> dict[str, Any] | None:
    """Return the columns of a table by name; None of what has no names.

    Knows DataFrames of pandas and polars, tables of pyarrow, datasets of xarray, records of awkward
    and NumPy, and plain dictionaries.
    """
    if hasattr(type(table), "collect"):
        raise ValueError(f"a {type(table).__name__} holds no events yet; collect() it first")
    if isinstance(table, dict):
        names: Any = list(table)
    else:
        names = next(
            (
                found
                for kind in ("column_names", "columns", "fields", "data_vars")
                # Of the type: a row of a table may have a value called so.
                if hasattr(type(table), kind) and (found := getattr(table, kind)) is not None
            ),
            getattr(getattr(table, "dtype", None), "names", None),
        )
    return {str(name): table[name] for name in names} if names is not None and len(names) else None


def protected_columns(protected: Any) -> tuple[list[str], list[NDArray[Any]]]:
    """Return the names and columns of the protected attributes.

    Takes a column, a table (n, k), or anything with named columns such as a DataFrame.
    """
    table = named_columns(protected)
    if table is not None:
        columns = [as_array(values, name) for name, values in table.items()]
        for name, values in zip(table, columns, strict=True):
            if values.ndim != 1:
                raise ValueError(f"{name} has shape {values.shape}; expected one value per event")
            same_length(len(columns[0]), next(iter(table)), **{name: len(values)})
        return list(table), columns
    array = as_array(protected, UNNAMED)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"{UNNAMED} has shape {array.shape}; expected (n,) or (n, k)")
    if array.ndim == 1:
        return [str(getattr(protected, "name", None) or UNNAMED)], [array]
    return [f"{UNNAMED}[:, {i}]" for i in range(array.shape[1])], list(array.T)


def are_names(names: list[str]) -> bool:
    """Return whether the columns were named, or only numbered by `protected_columns`."""
    return names != [UNNAMED] and names[0] != f"{UNNAMED}[:, 0]"


def check_list(columns: Any, name: str) -> None:
    """Refuse one name, whose letters would be taken for columns, and one position."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(f"{name} is {columns!r}; expected a list of columns, by name or position")


def in_order_of(fitted: list[str], protected: Any) -> list[NDArray[Any]]:
    """Return the protected columns in the order of the fit: by name where both have names."""
    names, columns = protected_columns(protected)
    if len(columns) != len(fitted):
        raise ValueError(
            f"protected has {len(columns)} columns; expected {len(fitted)}: {', '.join(fitted)}"
        )
    if named_columns(protected) is None or not are_names(fitted):
        return columns
    for name in fitted:
        if name not in names:
            raise ValueError(f"protected has no column {name!r}; it has {names}")
    return [columns[names.index(name)] for name in fitted]


def with_weight(
    columns: NDArray[T], protected: Any, weight: Floats
) -> tuple[NDArray[T], Columns, Floats]:
    """Return the events whose weight is not zero: the others are none."""
    counts = weight != 0
    table = zip(*protected_columns(protected), strict=True)
    kept = Columns((name, values[counts]) for name, values in table)
    return columns[counts], kept, weight[counts]


def count_events(protected: Any) -> int:
    """Return the number of events."""
    return len(protected_columns(protected)[1][0])


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
    return column(sample_weight, "sample_weight", events, of)


def event_weights(sample_weight: ArrayLike | None, events: int, of: str = "scores") -> Floats:
    """Return the weights, one each if none are given; their sum is positive."""
    weight = weight_column(sample_weight, events, of)
    positive_total(weight)
    return weight


def positive_total(weight: Floats) -> None:
    """Refuse weights that cancel."""
    total = weight.sum()
    if total <= 0:
        raise ValueError(
            f"sample_weight sums to {f'{total:g}' if total else 'zero'} over {len(weight):,} "
            "events; expected a positive total"
        )


def not_empty(values: NDArray[Any], name: str) -> None:
    """Refuse a sample without events."""
    if values.size == 0:
        raise ValueError(f"{name} is empty; expected at least one event")


def not_constant(values: Floats, name: str) -> None:
    """Refuse a column that has one value only."""
    if values.min() == values.max():
        raise ValueError(
            f"{name} is {values.flat[0]:g} in all {values.size:,} events; "
            "there is nothing to decorrelate in a constant"
        )


def check_fraction(value: float, name: str) -> None:
    """Refuse what is not a fraction strictly between none and all."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; expected a number between 0 and 1, such as 0.5")


def whole_numbers(values: Any, name: str, length: int, of: str = "scores") -> NDArray[np.integer]:
    """Return one whole number per event, (n,), with all digits of large ones."""
    array = as_array(values, name)
    if array.dtype.kind not in "iu":
        floats = numbers(array, name)
        # From here on not every whole number is a double: two events would share one.
        bad = floats[(floats != np.floor(floats)) | (np.abs(floats) > 2**53)]
        if bad.size:
            raise ValueError(
                f"{name} is {bad[0]:.17g} and the like in {bad.size:,} of {floats.size:,} events; "
                "expected whole numbers, those beyond 2**53 as integers"
            )
        array = floats.astype(np.int64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; expected one column (n,)")
    same_length(length, of, **{name: len(array)})
    return array


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")
    return int(value)
