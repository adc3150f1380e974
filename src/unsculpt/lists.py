"""Awkward arrays: the jets of events in, the jets of events out.

A model knows events and no lists. Here the lists of its input are taken apart, and its answer is
put back into them. Awkward is not imported: who has no awkward array needs none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Columns, as_array, named_columns, same_length

# What a method calls that which has one entry for each event.
EVENTS = {"scores", "features", "levels", "latent", "moved", "protected"}
EVENTS |= {"sample_weight", "event", "fold", "label", "labels"}
FITS = ("fit", "partial_fit", "fit_transform")

F = TypeVar("F", bound=Callable[..., Any])


def takes_lists(method: F) -> F:
    """Have a method of a model take awkward arrays with lists and missing values.

    The answer has the lists of the scores, or of the protected attributes where there are no
    scores. What is missing in any of them is missing in it; a fit refuses it. A value of the event
    stands beside each entry of its lists. Records of scores come back as records, and lazy arrays
    of dask-awkward as a lazy one.
    """
    of = signature(method)

    @wraps(method)
    def on_any(*args: Any, **options: Any) -> Any:
        ak = sys.modules.get("awkward")
        if ak is None:
            return method(*args, **options)
        columns = [x for value in chain(args, options.values()) for x in _columns(ak, value)]
        lazy = sys.modules.get("dask_awkward")
        if lazy and any(isinstance(x, lazy.Array) for x in columns):
            return _later(lazy, ak, on_any, args, options)
        arrays = [x for x in columns if isinstance(x, ak.Array)]
        if any(x.layout.backend.name == "typetracer" for x in arrays):
            return _announced(ak, on_any, args, options)
        if not any(x.ndim > 1 or x.layout.is_option for x in arrays):
            return method(*args, **options)
        return _in_lists(ak, method, of.bind(*args, **options))

    return on_any  # type: ignore[return-value]


def _columns(ak: Any, value: Any) -> list[Any]:
    """Return the columns of what may hold awkward arrays, itself if it has none."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, ak.Array) and value.fields:
        return [value[name] for name in value.fields]
    return [value]


def _in_lists(ak: Any, method: Callable[..., Any], call: Any) -> Any:
    """Call the method with flat columns, and return its answer in the lists they came in."""
    given = call.arguments
    if "event" in call.signature.parameters and method.__name__ in FITS:
        _number_events(given)
    tables = {name: _table(ak, x) for name, x in given.items() if name in EVENTS and x is not None}
    first = next(iter(tables))
    columns = [(name, column) for name, table in tables.items() for column in table.values()]
    depth = max(column.ndim for column in tables[first].values())
    for name, column in columns:
        same_length(len(columns[0][1]), first, **{name: len(column)})
        if column.ndim > depth:
            raise ValueError(
                f"{name} has lists where {first} has one value; expected the same lists in {first}"
            )
    flat, places = flattened(ak, [column for _, column in columns])
    if method.__name__ in FITS:
        _refuse_missing(ak, places, " or ".join(tables))
    records = first != "protected" and named_columns(given[first]) is not None
    rest = iter(flat)
    for name, table in tables.items():
        own = Columns((key, next(rest)) for key in table)
        named = named_columns(given[name]) is not None
        if name == "protected" and named:
            given[name] = own
        else:
            given[name] = np.column_stack(list(own.values())) if len(own) > 1 or named else own[""]
    answer = method(*call.args, **call.kwargs)
    if not isinstance(answer, np.ndarray):
        return answer
    return put_back(ak, answer, places, list(tables[first]) if records else None)


def _number_events(given: dict[str, Any]) -> None:
    """Give each event of a fit in folds a number: all its entries belong in one fold."""
    if given.get("event") is None:
        scores = given["scores"]
        named = named_columns(scores)
        given["event"] = np.arange(len(scores if named is None else next(iter(named.values()))))


def _table(ak: Any, values: Any) -> dict[str, Any]:
    """Return the columns by name; without names by number, and one column under no name."""
    table = named_columns(values)
    if table is None:
        array = values if isinstance(values, ak.Array) else as_array(values, "an array")
        two = not isinstance(values, ak.Array) and array.ndim == 2
        table = {str(i): column for i, column in enumerate(array.T)} if two else {"": array}
    return {name: x if isinstance(x, ak.Array) else as_array(x, name) for name, x in table.items()}


def flattened(ak: Any, columns: Sequence[Any]) -> tuple[list[NDArray[Any]], Any]:
    """Return the entries of columns, and the lists of the first with the number of each entry."""
    flat: list[NDArray[Any]] = []

    def entries(layouts: Any, **_: Any) -> Any:
        if not all(
            x.is_numpy or x.is_unknown or x.parameter("__array__") == "string" for x in layouts
        ):
            if any(x.is_record or x.is_union for x in layouts):
                raise ValueError("an array holds records or several kinds of entries")
            return None
        flat.extend(ak.to_numpy(x) for x in layouts)
        return ak.contents.NumpyArray(np.arange(layouts[0].length))

    # Lists of fixed length are broadcast from the other side than others.
    free = [ak.from_regular(x, axis=None) if _may_be_regular(x) else x for x in columns]
    try:
        # Of one array alone the function would be told otherwise.
        places = ak.transform(entries, free[0], *(free[1:] or free), right_broadcast=False)
    except ValueError as error:
        if "broadcast" not in str(error):
            raise
        raise ValueError("lists of one event differ in length between the arrays") from None
    if columns[0].ndim > 1 and columns[0].layout.purelist_isregular:
        places = ak.to_regular(places)
    return flat[: len(columns)], places


def _may_be_regular(column: Any) -> bool:
    if column.ndim == 1:
        return False
    layout = column.layout
    return bool(layout.is_regular or not (layout.is_list and layout.content.is_numpy))


def put_back(ak: Any, answer: NDArray[Any], places: Any, fields: list[str] | None = None) -> Any:
    """Return an answer for each entry in the lists of their places; columns as records if named."""

    def put(layout: Any, **_: Any) -> Any:
        if not layout.is_numpy:
            return None
        here = answer[layout.data]
        if fields is None:
            return ak.contents.NumpyArray(here)
        columns = [ak.contents.NumpyArray(column) for column in np.ascontiguousarray(here.T)]
        return ak.contents.RecordArray(columns, fields)

    return ak.transform(put, places)


def _refuse_missing(ak: Any, places: Any, which: str) -> None:
    missing = sum(int(ak.sum(ak.is_none(places, axis=i), axis=None)) for i in range(places.ndim))
    if missing:
        raise ValueError(
            f"{which} is missing (None) in {missing:,} entries; leave those out of a fit, as with "
            "array[~ak.is_none(array)]"
        )


def _later(lazy: Any, ak: Any, call: Callable[..., Any], args: Any, options: Any) -> Any:
    """Return a lazy array of what the call gives for each partition."""
    if call.__name__ in FITS:
        raise ValueError("a fit looks at all events; compute the lazy arrays first")

    def for_each(*args: Any, **options: Any) -> Any:
        return ak.Array(call(*args, **options))

    return lazy.map_partitions(for_each, *args, label=call.__name__, **options)


def _announced(ak: Any, call: Callable[..., Any], args: Any, options: Any) -> Any:
    """Return the type of the answer where an array has a type and no entries."""

    def none(value: Any) -> Any:
        if not isinstance(value, ak.Array):
            return value
        ak.typetracer.touch_data(value)
        return ak.typetracer.length_zero_if_typetracer(value)

    answer = call(*map(none, args), **{name: none(value) for name, value in options.items()})
    return ak.Array(ak.to_layout(answer).to_typetracer(forget_length=True))
