"""A fitted model applied to files, a chunk at a time."""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unsculpt.decorrelators.base import Decorrelator, varied
from unsculpt.decorrelators.common.outside import Outside, OutsideWarning
from unsculpt.files.arrays import FILE, ROW, placed, side_by_side, to_arrow
from unsculpt.files.expressions import Expression, Rows, parse
from unsculpt.files.formats import create
from unsculpt.files.location import Location
from unsculpt.files.prefetch import prefetch
from unsculpt.files.remote import is_url
from unsculpt.files.sample import finite
from unsculpt.files.stream import Place, Stream
from unsculpt.inputs import Columns, whole_numbers


@dataclass
class Applied:
    """A summary of what `apply` did.

    Attributes:
        rows: the number of rows that were written.
        scores: the number of scores that were decorrelated; with lists it is not that of the rows.
        missing: the number of scores that are NaN or infinite, or whose attributes are.
        unselected: the number of scores outside of the selection of the fit, which became NaN.
        outside: for each protected attribute, the number of values outside the fitted range.
        columns: the names of the new columns.
        files: the files that were written.
    """

    rows: int = 0
    scores: int = 0
    missing: int = 0
    unselected: int = 0
    outside: Counter[str] = field(default_factory=Counter)
    columns: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def apply(
    model: Decorrelator,
    events: Stream,
    output: str | os.PathLike[str],
    *,
    names: Sequence[str] = (),
    source: dict[str, Any] | None = None,
    nan: Literal["raise", "keep"] = "raise",
    outside: Outside | None = None,
    selected_only: bool = False,
    variations: int = 0,
    to: Any = None,
    amount: float = 1.0,
    advance: Callable[[int], object] = lambda rows: None,
) -> Applied:
    """Write the events with the decorrelated scores added, in bounded memory.

    Args:
        model: a fitted decorrelator.
        events: the files.
        output: a file, or a folder to write each file into under its own name. What is written
            appears whole or not at all.
        names: names of the new columns; by default that of the score with `_flat` or `_moved` at
            its end. Other characters than letters and digits in an expression become underscores.
        source: the columns to use, as the model's `source_` has them, which is the default.
        nan: whether NaN or infinite scores and attributes are an error or give NaN.
        outside: what becomes of protected values beyond the fit; by default as the model says.
        selected_only: whether events that are not of the selection of the fit become NaN.
        variations: pairs of the model's variations to write too, as further columns that end in
            `_up_1`, `_down_1`, ...
        to: where scores are moved, as `model.move` has it, instead of decorrelated; the new columns
            are then called with `_moved` behind the score.
        amount: how far, from 0 to 1.
        advance: told how many rows came with each chunk.

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import SplineDecorrelator, files
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> spline.source_ = {"score": ["tagger"], "protected": ["mass"]}
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/events.npz", tagger=toy.score, mass=toy.protected)
    ...     done = apply(spline, files.scan(f"{folder}/events.npz"), f"{folder}/flat.npz")
    ...     files.scan(f"{folder}/flat.npz").columns
    ['tagger', 'mass', 'tagger_flat']
    """
    _keep_memory()
    if outside is not None:
        model = copy.copy(model)
        model.outside = outside
    if to is not None:
        model = model._elsewhere(to, amount)
    columns = _NewColumns(
        model, events, source or model.source_, names, nan, variations, selected_only
    )
    done = Applied(columns=list(columns.names))
    pairs = targets(events, output)
    if os.fspath(output).endswith(os.sep):
        Path(output).mkdir(exist_ok=True)
    for part, target in pairs:
        with _naming(part, target), warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            schema = columns.schema(part.schema())
            finish = partial(columns.add, schema=schema, done=done)
            with create(target, schema) as put:
                # Reading, computing and writing at the same time: each leaves cores to the others.
                for chunk in prefetch(map(finish, prefetch(part.placed_chunks()))):
                    put(chunk)
                    done.rows += len(chunk)
                    advance(len(chunk))
        others = {}  # each chunk says the same
        for note in notes:
            if isinstance(note.message, OutsideWarning):
                done.outside[note.message.name] += note.message.count
            else:
                others[str(note.message)] = note
        for note in others.values():
            warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)
        done.files.append(str(target))
    return done


@contextmanager
def _naming(part: Stream, target: Location) -> Iterator[None]:
    """Say in which file a mistake is."""
    try:
        yield
    except ValueError as error:
        file = str(part.locations[0])
        if len(part.locations) > 1 or file in str(error) or str(target.path) in str(error):
            raise
        raise ValueError(f"{file}: {error}") from error


def _keep_memory() -> None:
    """Have glibc keep what is freed for the next chunk.

    It does once it has seen an array of 32 MB freed. Else it hands each chunk back to the system,
    which clears the pages of the next one: measured, an eighth of the time that all takes.
    """
    np.empty(2**25 - 2**13, dtype=np.int8)


class _NewColumns:
    """The columns a model adds to a table."""

    def __init__(
        self,
        model: Decorrelator,
        events: Stream,
        source: dict[str, Any] | None,
        names: Sequence[str],
        nan: str,
        variations: int,
        selected_only: bool,
    ) -> None:
        if source is None:
            raise ValueError(
                "the model was fitted on arrays and knows no columns; "
                "name those of the score and of the protected attributes"
            )
        self.nan = nan
        # Under the names of the fit, whatever they are called here.
        self.attributes = (model.source_ or source)["protected"]
        for role in ("score", "protected"):
            fitted, here = (model.source_ or source)[role], source[role]
            if len(fitted) != len(here):
                raise ValueError(
                    f"the model takes {len(fitted)} as {role}, {', '.join(fitted)}, but "
                    f"{', '.join(here)} {'is' if len(here) == 1 else 'are'} named; name as many, "
                    "in the same order"
                )
        columns = [*events.columns, FILE, ROW]
        try:
            self.scores = [parse(text, columns) for text in source["score"]]
            self.protected = [parse(text, columns) for text in source["protected"]]
        except ValueError as error:
            raise ValueError(
                f"the model takes {', '.join(source['score'])} as score and "
                f"{', '.join(source['protected'])} as protected: {error}"
            ) from None
        free = (model.source_ or source).get("categorical") or ()  # may hold any text
        self.free = [e for e, of in zip(self.protected, self.attributes, strict=True) if of in free]
        fold_by = source.get("fold_by")
        self.fold_by = _fold_by(fold_by, columns) if fold_by else None
        self.selection = None
        if selected_only:
            if not source.get("selection"):
                raise ValueError(
                    "the model was fitted without a selection; expected one to hold to"
                )
            self.selection = parse(source["selection"], columns)
        self.names = list(names) or [
            _new_name(score, events, model.ending) for score in self.scores
        ]
        if len(self.names) != len(self.scores):
            raise ValueError(
                f"got the names {', '.join(self.names)} for {len(self.scores)} new "
                f"column{'s'[: len(self.scores) - 1]}; expected as many names as columns"
            )
        self.models = [model]
        if variations:
            models, nominal = varied(model, variations), self.names
            self.models = list(models.values())
            self.names = nominal + [f"{n}_{of}" for of in list(models)[1:] for n in nominal]
        if not all(name.strip() for name in self.names):
            raise ValueError("a new column has an empty name; expected a word")
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"two new columns would have one name: {', '.join(self.names)}")
        for name in self.names:
            if name in events.columns:
                raise ValueError(f"the events have a column {name} already; choose another name")

    def schema(self, before: pa.Schema) -> pa.Schema:
        """Return the types of the old columns and the new ones."""
        empty = before.empty_table()
        for name, column in self.added(placed(empty, "", 0), Applied()).items():
            before = before.append(pa.field(name, column.type))
        return before

    def add(self, chunk: tuple[Place, pa.Table], schema: pa.Schema, done: Applied) -> pa.Table:
        """Return the chunk, which comes with its place, with the new columns."""
        place, table = chunk
        return pa.table(
            [*table.columns, *self.added(place.mark(table), done).values()], schema=schema
        )

    def added(self, table: pa.Table, done: Applied) -> dict[str, pa.Array]:
        """Compute the new columns and count."""
        expressions = [*self.scores, *self.protected, *([self.fold_by] if self.fold_by else [])]
        masks = self.selection.holds(table) if self.selection else ()
        values, counts = side_by_side([*(e(table) for e in expressions), *masks])
        chosen = np.ones(len(values[0]), bool)
        if self.selection:
            *values, sure, chosen = values
        for expression, column in zip(expressions, values, strict=True):
            if column.dtype.kind != "U" or not len(column):
                continue
            stray = "" if expression in self.free else Rows(table).stray(expression.columns)
            if stray or expression not in self.protected:
                raise ValueError(f"{expression.text} is text; expected numbers{stray}")
        scores = np.column_stack(values[: len(self.scores)])
        attributes = values[len(self.scores) : len(self.scores) + len(self.protected)]
        protected = Columns(zip(self.attributes, attributes, strict=True))
        width = scores.shape[1]
        flat = np.full((len(scores), width * len(self.models)), np.nan)
        good = chosen & np.logical_and.reduce([finite(column) for column in values])
        unknown = np.zeros(len(good), bool)
        if self.selection:
            unknown = chosen & ~sure
            good &= ~unknown
        missing = int(np.sum(chosen & ~good))
        if unknown.any() and self.nan == "raise":
            raise ValueError(
                f"whether {self.selection.text!r} holds is not known in {unknown.sum():,} of "  # type: ignore[union-attr]
                f"{len(good):,} events read at once, as values are missing; repair them, or keep "
                "them as NaN with nan='keep' (--nan keep)"
            )
        if missing and self.nan == "raise":
            wrong = _which(expressions, [column[chosen] for column in values])
            raise ValueError(
                f"{wrong} NaN or infinite in {missing:,} of {len(good):,} "
                "events read at once; repair them, or keep them as NaN with nan='keep' (--nan keep)"
            )
        if good.any():
            some = slice(None) if good.all() else good
            given = scores[some, 0] if len(self.scores) == 1 else scores[some]
            folds = {}
            if self.fold_by:
                folds["event"] = whole_numbers(values[-1][some], self.fold_by.text, len(given))
            new = [self.models[0].transform(given, protected[some], **folds)]
            with warnings.catch_warnings():  # the others would count the same events once more
                warnings.simplefilter("ignore", OutsideWarning)
                new += [m.transform(given, protected[some], **folds) for m in self.models[1:]]
            flat[some] = np.hstack([one.reshape(-1, width) for one in new])
        done.scores += len(good)
        done.missing += missing
        done.unselected += int(np.sum(~chosen))
        columns = [to_arrow(column) for column in np.ascontiguousarray(flat.T)]
        if counts is not None:
            offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int64())
            columns = [pa.LargeListArray.from_arrays(offsets, column) for column in columns]
        return dict(zip(self.names, columns, strict=True))


def _fold_by(text: str, columns: Sequence[str]) -> Expression:
    try:
        return parse(text, columns)
    except ValueError as error:
        raise ValueError(
            f"the model tells the folds of events by {text}, which the files should have (for "
            f"events that were not in the fit, any whole numbers will do): {error}"
        ) from None


def _new_name(score: Expression, events: Stream, ending: str) -> str:
    """Return what the new column is called: a word, among those that one counter counts.

    ROOT's `nJet` counts all lists whose names begin with `Jet_`.
    """
    word = partial(re.sub, r"\W+", "_")
    columns = events.columns
    for name in score.columns:
        groups = (name[: match.start()] for match in re.finditer("_", name))
        group = next((group for group in groups if f"n{group}" in columns), None)
        if group is not None and score.text != name:
            rest = re.sub(rf"\b{group}_", "", score.text)
            return f"{group}_{word(rest).strip('_')}_{ending}"
    return f"{word(score.text).strip('_')}_{ending}"


def _which(expressions: Sequence[Expression], values: list[NDArray[Any]]) -> str:
    bad = [e.text for e, v in zip(expressions, values, strict=True) if not finite(v).all()]
    return f"{' and '.join(bad)} {'is' if len(bad) == 1 else 'are'}"


def targets(events: Stream, output: str | os.PathLike[str]) -> list[tuple[Stream, Location]]:
    """Pair the files to read with those to write: all with one file, or each with its own.

    Args:
        events: the files to read.
        output: a file for all of them, or a folder.

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import files
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/events.npz", mass=[60.0, 80.0])
    ...     pairs = targets(files.scan(f"{folder}/events.npz"), "flat/")
    >>> [str(target) for _, target in pairs]
    ['flat/events.npz']
    """
    if is_url(output):
        raise ValueError(f"{output} is a URL, which can only be read; write to a file here")
    inputs = {location.path.resolve() for location in events.locations}
    if not os.fspath(output).endswith(os.sep) and not Path(output).is_dir():
        pairs = [(events, Location.parse(output))]
    else:
        folder = Path(output)
        pairs = [
            (Stream([location], [source]), Location(folder / location.path.name, location.inside))
            for location, source in zip(events.locations, events.sources, strict=True)
        ]
    for path, times in Counter(_real(target) for _, target in pairs).items():
        if path in inputs:
            raise ValueError(f"{path} is read from; write to another file or folder")
        if times > 1:
            raise ValueError(f"{times} of the files are called {path.name}; write one at a time")
    return pairs


def _real(target: Location) -> Path:
    """Return the file that a name leads to; unlike `resolve`, also of a link to itself."""
    return Path(os.path.realpath(target.path))
