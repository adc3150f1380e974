"""The events of a fit, read from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unsculpt.files.arrays import numbered, side_by_side, with_row
from unsculpt.files.expressions import parse
from unsculpt.files.stream import Stream
from unsculpt.inputs import Columns, Floats, whole_numbers

Missing = Literal["raise", "drop"]


@dataclass(frozen=True)
class Sample:
    """Events with what a fit needs to know of them.

    Attributes:
        scores: (n,), or (n, k) for k scores.
        protected: the protected attributes, by name.
        label: 1 for signal, 0 for background.
        weight: (n,), or None.
        event: (n,) the numbers that tell the folds of events, or None.
        rows: how many rows were read, including those in neither class.
        dropped: how many of the events were left out as NaN or infinite.
    """

    scores: Floats
    protected: Columns
    label: NDArray[np.int8]
    weight: Floats | None
    event: NDArray[Any] | None
    rows: int
    dropped: int

    def __getitem__(self, which: NDArray[Any]) -> Sample:
        """Return some of the events."""
        weight, event = (None if x is None else x[which] for x in (self.weight, self.event))
        some = self.scores[which], self.protected[which], self.label[which], weight, event
        return Sample(*some, self.rows, self.dropped)


@dataclass(frozen=True)
class Selected:
    """What was read of the events that are signal or background.

    Attributes:
        columns: scores, protected attributes and, where there are any, weights and event numbers.
        signal: which of the events are signal.
        rows: how many rows were read.
    """

    columns: list[NDArray[Any]]
    signal: NDArray[np.bool_]
    rows: int


def read_sample(
    stream: Stream,
    source: dict[str, Any],
    *,
    nan: Missing = "raise",
    advance: Callable[[int], object] = lambda rows: None,
) -> Sample:
    """Read the events of a fit or a report into memory.

    Args:
        stream: the files.
        source: columns or expressions as a model's `source_` has them: `score` and `protected`
            lists, `weight`, `background`, `signal`, `blind` and `fold_by` or None. Without a
            background all events are it; without a signal it is all that are not background.
            Blinded events are not looked at.
        nan: whether NaN or infinite scores, attributes and weights are an error or left out.
        advance: told how many rows came with each chunk.
    """
    return joined([select(stream, source, advance)], source, nan)


def select(
    stream: Stream,
    source: dict[str, Any],
    advance: Callable[[int], object] = lambda rows: None,
) -> Selected:
    """Read and compute the columns of `source` for the events that are signal or background."""
    numbers = _numbers(source)
    conditions = [role for role in ("background", "signal", "blind") if source.get(role)]
    texts = (*numbers, *(source[role] for role in conditions))
    expressions = [parse(text, with_row(text, stream.columns)) for text in texts]
    needed = list(dict.fromkeys(name for e in expressions for name in e.columns))
    needed = [name for name in needed if name in stream.columns]
    rows, parts = 0, list[list[NDArray[Any]]]()
    empty = stream.schema(needed).empty_table()  # so that there is something to join
    for first, chunk in chain([(0, empty)], stream.chunks_with_rows(needed)):
        table = numbered(chunk, first)
        values, _ = side_by_side([expression(table) for expression in expressions])
        masks = {
            role: condition(mask, source[role])
            for role, mask in zip(conditions, values[len(numbers) :], strict=True)
        }
        signal, background = masks.get("signal"), masks.get("background")
        if background is None:
            background = np.ones(len(values[0]), bool) if signal is None else ~signal
        if signal is None:
            signal = ~background
        if np.any(signal & background):
            raise ValueError(
                f"some events are background, {source['background']!r}, "
                f"as well as signal, {source['signal']!r}"
            )
        either = signal | background
        if "blind" in masks:
            either &= ~masks["blind"]
        parts.append([column[either] for column in (*values[: len(numbers)], signal)])
        rows += len(chunk)
        advance(len(chunk))
    *columns, label = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return Selected(columns, label, rows)


def joined(parts: Sequence[Selected], source: dict[str, Any], nan: Missing) -> Sample:
    """Return the events of all parts, checked; some of them are background."""
    rows = sum(part.rows for part in parts)
    background = sum(int(np.sum(~part.signal)) for part in parts)
    if not background:
        which = f": {source['background']!r} holds for none" if source.get("background") else ""
        which += f" outside of {source['blind']!r}" if source.get("blind") else ""
        raise ValueError(f"no background is left of {rows:,} rows{which}")
    sample = gathered(parts, source, nan)
    if sample.label.all():
        raise ValueError(
            f"no background is left of {rows:,} rows: {' or '.join(_numbers(source))} is NaN or "
            f"infinite in all {background:,} of it"
        )
    return sample


def gathered(parts: Sequence[Selected], source: dict[str, Any], nan: Missing) -> Sample:
    """Return the events of all parts, checked."""
    scores, numbers = len(source["score"]), _numbers(source)
    signal = np.concatenate([part.signal for part in parts])
    columns = [
        np.concatenate(pieces) for pieces in zip(*(part.columns for part in parts), strict=True)
    ]
    for name, column in zip(numbers, columns, strict=True):
        if column.dtype.kind in "US" and name not in source["protected"]:
            raise ValueError(f"{name} holds text such as {str(column[0])!r}; expected numbers")
    good = _good(columns, numbers, nan)
    columns = [column[good] for column in columns]
    protected = scores + len(source["protected"])
    more = dict(zip(_roles(source), columns[protected:], strict=True))
    if "fold_by" in more:
        more["fold_by"] = whole_numbers(more["fold_by"], source["fold_by"], len(columns[0]))
    together = columns[0] if scores == 1 else np.column_stack(columns[:scores])
    return Sample(
        together,
        Columns(zip(source["protected"], columns[scores:protected], strict=True)),
        signal[good].astype(np.int8),
        more.get("weight"),
        more.get("fold_by"),
        sum(part.rows for part in parts),
        int(np.sum(~good)),
    )


def _numbers(source: dict[str, Any]) -> list[str]:
    """Return the columns of a sample, in the order they are kept in."""
    more = [source[role] for role in _roles(source)]
    return [*source["score"], *source["protected"], *more]


def _roles(source: dict[str, Any]) -> list[str]:
    """Return which of the columns that a sample may do without it has."""
    return [role for role in ("weight", "fold_by") if source.get(role)]


def condition(values: NDArray[Any], text: str) -> NDArray[np.bool_]:
    """Refuse a condition that is none."""
    if values.dtype != bool:
        raise ValueError(f"{text!r} gives {values.dtype}; expected a condition such as label == 0")
    return values


def finite(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are not NaN or infinite; text never is."""
    return np.isfinite(column) if column.dtype.kind in "fc" else np.ones(len(column), bool)


def _good(columns: list[NDArray[Any]], names: list[str], nan: Missing) -> NDArray[np.bool_]:
    """Return which events are all finite numbers; unless told to drop the others, refuse them."""
    good = np.ones(len(columns[0]), bool)
    for name, column in zip(names, columns, strict=True):
        here = finite(column)
        if nan == "raise" and not here.all():
            raise ValueError(
                f"{name} is NaN or infinite in {np.sum(~here):,} of {len(here):,} events; "
                "repair them, or leave them out with nan='drop' (--nan drop)"
            )
        good &= here
    return good
