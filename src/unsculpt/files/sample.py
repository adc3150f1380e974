"""The events of a fit, read from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unsculpt.files.arrays import FILE, ROW, side_by_side
from unsculpt.files.expressions import is_number, parse
from unsculpt.files.location import Tables, locate
from unsculpt.files.stream import Place, Stream
from unsculpt.inputs import LARGEST, Columns, Floats, Mask, whole_numbers

CONDITIONS = ("selection", "background", "signal", "blind")
MOST_CATEGORIES = 50
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
        rows: how many rows were read.
        dropped: how many of the events were left out as NaN or infinite, or because what they are
            is not known.
        others: how many were not selected, blinded, or neither signal nor background.
        blinded: how many of those were blinded.
    """

    scores: Floats
    protected: Columns
    label: NDArray[np.int8]
    weight: Floats | None
    event: NDArray[Any] | None
    rows: int
    dropped: int
    others: int = 0
    blinded: int = 0

    def __getitem__(self, which: NDArray[Any]) -> Sample:
        """Return some of the events."""
        weight, event = (None if x is None else x[which] for x in (self.weight, self.event))
        some = self.scores[which], self.protected[which], self.label[which], weight, event
        return Sample(*some, self.rows, self.dropped, self.others, self.blinded)


@dataclass(frozen=True)
class Selected:
    """What was read of the events that are signal or background.

    Attributes:
        columns: scores, protected attributes and, where there are any, weights and event numbers.
        signal: which of the events are signal.
        rows: how many rows were read.
        others: how many events are neither, or not selected.
        blinded: how many of those are selected and blinded.
        unknown: of how many nobody can know that, as something is missing.
        first_unknown: where the first of those is.
    """

    columns: list[NDArray[Any]]
    signal: NDArray[np.bool_]
    rows: int
    others: int
    blinded: int
    unknown: int
    first_unknown: str


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
            lists; `selection`, `weight`, `background`, `signal`, `blind` and `fold_by`, or None;
            `background_files` and `signal_files`, names or patterns of some of the files;
            `categorical`, those of the protected that may have any text. If neither background
            nor signal is named, all events are background. Background may be named alone, signal
            only together with background.
            Events that are not selected, or blinded, are not looked at.
        nan: whether NaN or infinite scores, attributes and weights, and conditions that are not
            known as a value is missing, are an error or left out.
        advance: told how many rows came with each chunk.

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import files
    >>> kinds = {"background": "label == 0", "signal": "label == 1"}
    >>> source = {"score": ["tagger"], "protected": ["mass"], **kinds}
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/events.npz", tagger=[0.2, 0.9], mass=[60.0, 80.0], label=[0, 1])
    ...     sample = read_sample(files.scan(f"{folder}/events.npz"), source)
    >>> sample.label
    array([0, 1], dtype=int8)
    """
    return joined([select(stream, source, advance)], source, nan)


def select(
    stream: Stream,
    source: dict[str, Any],
    advance: Callable[[int], object] = lambda rows: None,
) -> Selected:
    """Read and compute the columns of `source` for the events that are signal or background."""
    numbers = _numbers(source)
    names = [*stream.columns, FILE, ROW]
    expressions = [parse(text, names) for text in numbers]
    which = _Which(source, names)
    needed = dict.fromkeys(name for e in (*expressions, *which.parsed) for name in e.columns)
    own = [name for name in needed if name in stream.columns]
    text = _Text(source)
    rows, others, blinded, unknown, first_unknown = 0, 0, 0, 0, ""
    parts = list[list[NDArray[Any]]]()
    # So that there is something to join.
    nothing = Place(stream.locations[0], 0), stream.schema(own).empty_table()
    for place, chunk in chain(stream.placed_chunks(own), [nothing]):
        table = place.mark(chunk)
        values = [expression(table) for expression in expressions]
        flat, counts = side_by_side([*values, *which.masks(table)])
        masks = flat[len(numbers) :]
        signal, background, doubt, blind = which.samples(masks, place, len(flat[0]))
        either = signal | background
        columns = [column[either] for column in flat[: len(numbers)]]
        here = np.flatnonzero(either)
        for name, column in zip(numbers, columns, strict=True):
            if column.dtype.kind in "US":
                text.check(name, column, lambda i: place.words(here[i], counts))  # noqa: B023
        if doubt.any() and not unknown:
            first_unknown = place.words(np.flatnonzero(doubt)[0], counts)
        parts.append([*columns, signal[either]])
        unknown += int(doubt.sum())
        others += int(np.sum(~(either | doubt)))
        blinded += int(blind.sum())
        rows += len(chunk)
        advance(len(chunk))
    *joined_columns, label = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return Selected(joined_columns, label, rows, others, blinded, unknown, first_unknown)


class _Which:
    """Which events are signal, and which background."""

    def __init__(self, source: dict[str, Any], names: Sequence[str]) -> None:
        self.texts = {role: source[role] for role in CONDITIONS if source.get(role)}
        self.parsed = [parse(text, names) for text in self.texts.values()]
        self.files = {
            role: Tables(locate(*source[f"{role}_files"]))
            for role in ("background", "signal")
            if source.get(f"{role}_files")
        }
        self.named = {*self.texts, *self.files}
        if "signal" in self.named and "background" not in self.named:
            raise ValueError(
                "signal is named but background is not; name it too, with --background or "
                "--background-files"
            )

    def masks(self, table: pa.Table) -> list[Any]:
        """Return where each condition holds and where it may, one after the other."""
        return [mask for condition in self.parsed for mask in condition.holds(table)]

    def samples(
        self, masks: Sequence[Mask], place: Place, events: int
    ) -> tuple[Mask, Mask, Mask, Mask]:
        """Return which events are signal, background, not known to be either, and blinded."""
        sure = dict(zip(self.texts, masks[::2], strict=True))
        may = dict(zip(self.texts, masks[1::2], strict=True))
        for role in CONDITIONS:
            if role in self.files and place.location not in self.files[role]:
                sure[role] = may[role] = np.zeros(events, bool)
            elif role not in sure:
                # Without a word on them, all are selected and background, none signal or blinded.
                default = role in ("selection", "background") or role in self.files
                sure[role] = may[role] = np.full(events, default)
        looked_at = may["selection"] & ~sure["blind"]
        doubt = looked_at & np.logical_or.reduce([sure[role] != may[role] for role in sure])
        signal, background = (looked_at & ~doubt & sure[role] for role in ("signal", "background"))
        if np.any(signal & background):
            raise ValueError(
                "some events are background as well as signal, by "
                + " and ".join(
                    repr(self.texts[role]) if role in self.texts else f"the files of {role}"
                    for role in ("background", "signal")
                )
            )
        return signal, background, doubt, may["selection"] & sure["blind"]


class _Text:
    """The text that protected attributes may hold: a few categories."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.free = source.get("categorical") or ()
        self.protected = source["protected"]
        self.seen: dict[str, set[str]] = {name: set() for name in self.protected}

    def check(self, name: str, column: NDArray[Any], where: Callable[[int], str]) -> None:
        """Refuse text among numbers, and more values than categories have."""
        present = np.flatnonzero(column != "")
        if name in self.free or not len(present):
            return
        values, first, counts = np.unique(column[present], return_index=True, return_counts=True)
        first = present[first]
        number = np.array([is_number(value) for value in values])
        mostly = 2 * counts[number].sum() > len(present)
        if mostly or name not in self.protected:
            at = int(min(first[~number], default=first.min()))
            among = ", a number in most other rows" if mostly and not number.all() else " as text"
            raise ValueError(
                f"{name} is {str(column[at])!r} in {where(at)}{among}; expected numbers. Repair "
                "them; an empty field is a missing value"
                + (
                    ""
                    if name not in self.protected
                    else f". If they are categories, say so with --categorical {name}"
                )
            )
        seen = self.seen[name]
        for value, at in sorted(zip(values.tolist(), first, strict=True), key=lambda pair: pair[1]):
            seen.add(value)
            if len(seen) > MOST_CATEGORIES:
                raise ValueError(
                    f"{name} is text with more than {MOST_CATEGORIES} values, {value!r} in "
                    f"{where(at)} the last of them; expected numbers, or text of a few categories. "
                    f"If they are that, say so with --categorical {name}"
                )


def joined(parts: Sequence[Selected], source: dict[str, Any], nan: Missing) -> Sample:
    """Return the events of all parts, checked; some of them are background."""
    rows = sum(part.rows for part in parts)
    background = sum(int(np.sum(~part.signal)) for part in parts)
    if not background:
        which = f" outside of {source['blind']!r}" if source.get("blind") else ""
        raise ValueError(
            f"no background is left of {rows:,} rows{none_left(source, 'background')}{which}"
        )
    sample = gathered(parts, source, nan)
    if sample.label.all():
        raise ValueError(
            f"no background is left of {rows:,} rows: {' or '.join(_numbers(source))} is NaN or "
            f"infinite in all {background:,} of it"
        )
    return sample


def none_left(source: dict[str, Any], role: str) -> str:
    """Say which conditions of a sample, and of all events, hold for none."""
    texts = [repr(source[one]) for one in (role, "selection") if source.get(one)]
    return f": {' and '.join(texts)} hold{'s' * (len(texts) == 1)} for none" if texts else ""


def gathered(parts: Sequence[Selected], source: dict[str, Any], nan: Missing) -> Sample:
    """Return the events of all parts, checked."""
    scores, numbers = len(source["score"]), _numbers(source)
    signal = np.concatenate([part.signal for part in parts])
    columns = [
        np.concatenate(pieces) for pieces in zip(*(part.columns for part in parts), strict=True)
    ]
    unknown = sum(part.unknown for part in parts)
    if unknown and nan == "raise":
        conditions = " or ".join(repr(source[role]) for role in CONDITIONS if source.get(role))
        first = next(part.first_unknown for part in parts if part.unknown)
        raise ValueError(
            f"whether {conditions} holds is not known in {unknown:,} events, as values are "
            f"missing, first in {first}; repair them, or leave them out with nan='drop' "
            "(--nan drop)"
        )
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
        int(np.sum(~good)) + unknown,
        sum(part.others for part in parts),
        sum(part.blinded for part in parts),
    )


def _numbers(source: dict[str, Any]) -> list[str]:
    """Return the columns of a sample, in the order they are kept in."""
    more = [source[role] for role in _roles(source)]
    return [*source["score"], *source["protected"], *more]


def _roles(source: dict[str, Any]) -> list[str]:
    """Return which of the columns that a sample may do without it has."""
    return [role for role in ("weight", "fold_by") if source.get(role)]


def finite(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are finite: not NaN or infinite, and no empty text."""
    if column.dtype.kind == "U":
        return np.asarray(column != "")
    if column.dtype.kind == "f":
        return np.asarray(np.abs(column) < LARGEST)
    return np.ones(len(column), bool)


def _good(columns: list[NDArray[Any]], names: list[str], nan: Missing) -> NDArray[np.bool_]:
    """Return which events are all finite numbers; unless told to drop the others, refuse them."""
    good = np.ones(len(columns[0]), bool)
    for name, column in zip(names, columns, strict=True):
        here = finite(column)
        if nan == "raise" and not here.all():
            what, also = "NaN or infinite", f" ({LARGEST:g} and beyond count as infinite)"
            if column.dtype.kind == "U":
                what, also = "missing", ""
            raise ValueError(
                f"{name} is {what} in {np.sum(~here):,} of {len(here):,} events{also}; "
                "repair them, or leave them out with nan='drop' (--nan drop)"
            )
        good &= here
    return good
