"""Columns of a table as arrays to compute with, and back.

Awkward is imported where there are lists or records: it takes a quarter of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Columns that every table has, for those who ask for them: where an event was read.
FILE, ROW = "file", "row number"


def to_arrow(array: NDArray[Any]) -> pa.Array:
    """Return an array (n, ...) as a column; further axes become lists of fixed length."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim == 1:
        return pa.array(array)
    inner = to_arrow(array.reshape(-1, *array.shape[2:]))
    return pa.FixedSizeListArray.from_arrays(inner, array.shape[1])


def placed(table: pa.Table, file: str, first: int) -> pa.Table:
    """Return a table with the columns `FILE` and `ROW`; its own columns of these names stay."""
    if FILE not in table.column_names:
        files = pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int32), [file])
        table = table.append_column(FILE, files)
    if ROW not in table.column_names:
        table = table.append_column(ROW, pa.array(np.arange(first, first + len(table))))
    return table


def to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return a flat column as an array; what is missing becomes NaN, and text ""."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        if column.null_count:
            raise ValueError(
                f"{column.null_count:,} of {len(column):,} arrays of one column, {kind}, are "
                "missing; repair them, or write Parquet or Arrow"
            )
        inner = pa.chunked_array([chunk.flatten() for chunk in column.chunks], kind.value_type)
        flat = to_numpy(inner)
        return flat.reshape(len(column), kind.list_size, *flat.shape[1:])
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if is_text(column.type):
        column = column.fill_null("")
    if pa.types.is_integer(column.type) and column.null_count:
        _check_digits(column.drop_null().to_numpy(), column.null_count)
    no_numbers = pa.types.is_null(kind) or pa.types.is_decimal(kind)
    if no_numbers or (pa.types.is_boolean(kind) and column.null_count):
        column = column.cast(pa.float64())
    values: NDArray[Any] = column.to_numpy()
    return values.astype(str) if is_text(column.type) else values


def to_awkward(column: pa.ChunkedArray) -> Any:
    """Return any column as an awkward array; what is missing becomes NaN, "" or an empty list."""
    import awkward as ak

    if is_text(column.type):
        return ak.fill_none(ak.from_arrow(column), "")
    if not pa.types.is_nested(column.type) or pa.types.is_fixed_size_list(column.type):
        return ak.from_numpy(to_numpy(column))
    try:
        array = ak.from_arrow(column)
    except (NotImplementedError, KeyError):
        raise ValueError(
            f"awkward cannot hold a column of {column.type}; expected numbers, text, lists or "
            "records"
        ) from None
    return filled(array)


def filled(array: Any) -> Any:
    """Return an awkward array with nothing missing, as `to_awkward` says; records stay."""
    import awkward as ak

    if array.ndim > 1:
        array = ak.fill_none(array, [], axis=0)
    if array.fields:
        return array
    if "string" in str(array.type):
        return ak.fill_none(array, "", axis=-1)
    known = ak.to_numpy(ak.flatten(array, axis=None))
    missing = int(ak.sum(ak.is_none(array, axis=-1), axis=None))
    nothing: Any = np.nan  # which makes doubles of whole numbers and of single fractions
    if known.dtype.kind == "f":
        nothing = known.dtype.type(np.nan)
    elif known.dtype.kind in "iub" and not missing:
        nothing = known.dtype.type(0)
    elif known.dtype.kind in "iu":
        _check_digits(known, missing)
    return ak.fill_none(array, nothing, axis=-1)


def _check_digits(known: NDArray[Any], missing: int) -> None:
    """Refuse whole numbers that are no doubles, which they have to be beside NaN."""
    largest = max((int(known.min(initial=0)), int(known.max(initial=0))), key=abs)
    if abs(largest) > 2**53:
        raise ValueError(
            f"{missing:,} of {missing + len(known):,} whole numbers of one column are missing "
            f"among others as large as {largest}, which would lose digits beside NaN; repair them "
            "(Parquet, Arrow and CSV hold them as they are)"
        )


def to_compute(column: pa.ChunkedArray) -> Any:
    """Return a column as NumPy, or as awkward where it has lists or records, in full precision."""
    if not pa.types.is_nested(column.type) or pa.types.is_fixed_size_list(column.type):
        return widen(to_numpy(column))
    return widen(to_awkward(column))


def widen(values: Any) -> Any:
    """Return numbers with 64 bits, whole ones signed: differences of unsigned ones would wrap."""
    if is_awkward(values):
        import awkward as ak

        if values.fields:
            return values
        dtype = widen(np.asarray(ak.flatten(values[:0], axis=None))).dtype
        return ak.values_astype(values, dtype) if dtype.kind in "iuf" else values
    if values.dtype.kind in "iu" and values.dtype != np.uint64:
        return values.astype(np.int64, copy=False)
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values


def signed(value: Any) -> Any:
    """Return unsigned numbers as such that may be negative, and anything else as it is."""
    flat = value
    if is_awkward(value):
        import awkward as ak

        flat = ak.to_numpy(ak.flatten(value, axis=None))
    if getattr(flat, "dtype", None) != np.uint64:
        return value
    dtype = np.int64 if flat.max(initial=0) < 2**63 else np.float64
    return ak.values_astype(value, dtype) if flat is not value else value.astype(dtype)


def side_by_side(values: Sequence[Any]) -> tuple[list[NDArray[Any]], Any]:
    """Return columns as flat arrays of one length, and the lengths of the lists if there are any.

    Beside lists, a number of the event counts for each entry of its list.
    """
    if not any(map(is_awkward, values)):
        if any(value.ndim > 1 for value in values):
            raise ValueError("a column holds an array for each event; expected one number")
        return list(values), None
    import awkward as ak

    try:
        together = ak.broadcast_arrays(*values)
    except (ValueError, KeyError):  # awkward looks up what it would do, and has nothing for that
        raise ValueError("the lists of an event differ in length among the columns") from None
    if any(array.fields or array.ndim != 2 for array in together):
        raise ValueError("a column holds records or lists of lists; expected numbers or lists")
    return [np.asarray(ak.flatten(array)) for array in together], ak.num(together[0])


def is_awkward(value: Any) -> bool:
    """Return whether a value has lists or records: is an array of awkward."""
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(value, awkward.Array)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
