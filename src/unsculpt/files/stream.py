"""Many files as one stream of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from unsculpt.files.arrays import placed
from unsculpt.files.formats import Source, open_source, reading
from unsculpt.files.location import Location, Tables, locate

CHUNK_ROWS = 2**18
CHUNK_BYTES = 2**26
LIST = 16  # numbers that a list is taken to hold


class Place(NamedTuple):
    """Where a chunk comes from: its file, and the number of its first row there."""

    location: Location
    first: int

    def mark(self, table: pa.Table) -> pa.Table:
        """Return the chunk with the columns that tell the file and the row of each event."""
        return placed(table, self.location.path.name, self.first)

    def words(self, entry: int, counts: Any = None) -> str:
        """Return where an entry of the chunk is, in words; with lists, so many a row."""
        row = entry if counts is None else np.searchsorted(np.cumsum(counts), entry, "right")
        return f"row {self.first + row + 1:,} of {self.location}"


@dataclass(frozen=True)
class Stream:
    """Tables with the same columns, one after the other."""

    locations: list[Location]
    sources: list[Source]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, those of the first file."""
        return self.sources[0].columns

    @property
    def rows(self) -> int | None:
        """How many rows there are, where the formats tell."""
        counts = [source.rows for source in self.sources]
        return None if None in counts else sum(count or 0 for count in counts)

    def schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Return types of these columns, all if not given, that the numbers of all files fit.

        Args:
            columns: the names of columns; all if not given.
        """
        for location, source in zip(self.locations, self.sources, strict=True):
            mine, wanted = set(source.columns), set(self.columns if columns is None else columns)
            missing, extra = wanted - mine, mine - wanted if columns is None else set()
            if missing or extra:
                which = ", ".join(sorted(missing or extra))
                raise ValueError(
                    f"{location} {'has no' if missing else 'alone has'} {which}, "
                    f"unlike {self.locations[0]}; files read together need the same columns"
                )
        wanted_columns = self.columns if columns is None else columns
        schemas = []
        for location, source in zip(self.locations, self.sources, strict=True):
            with reading(location):
                schemas.append(source.schema(wanted_columns))
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowTypeError as error:
            raise ValueError(f"the files do not fit together: {error}") from None

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Read these columns, all if not given, a bounded number of rows at once.

        Args:
            columns: the names of columns; all if not given.
        """
        return (table for _, table in self.placed_chunks(columns))

    def placed_chunks(
        self, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Place, pa.Table]]:
        """Read the same, each chunk with the place it comes from.

        Args:
            columns: the names of columns; all if not given.
        """
        schema = self.schema(columns)
        numbers = sum(LIST if pa.types.is_nested(kind) else 1 for kind in schema.types)
        rows = max(1024, min(CHUNK_ROWS, CHUNK_BYTES // (8 * max(numbers, 1))))
        for location, source in zip(self.locations, self.sources, strict=True):
            first = 0
            with reading(location):
                for table in source.chunks(schema.names, rows):
                    if not table.schema.equals(schema):
                        table = table.cast(schema)
                    yield Place(location, first), table.replace_schema_metadata(schema.metadata)
                    first += len(table)


def scan(*names: str | os.PathLike[str]) -> Stream:
    """Look into files, patterns of files and trees in files, without reading their rows.

    Args:
        *names: files, patterns of files and trees in files, such as `run*.root:Events`.

    >>> scan("run*.root:Events")
    Traceback (most recent call last):
    ...
    FileNotFoundError: no file matches run*.root
    """
    locations = locate(*names)
    return Stream(locations, [open_source(location) for location in locations])


def scan_samples(
    events: Sequence[str | os.PathLike[str]],
    background: Sequence[str | os.PathLike[str]] = (),
    signal: Sequence[str | os.PathLike[str]] = (),
) -> Stream:
    """Look into all these files, each once; those of background and signal may be among events.

    Args:
        events: files whose events are of all kinds, or patterns of them.
        background: files of background alone.
        signal: files of signal alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("qcd", "w"):
    ...         np.savez(f"{folder}/{name}.npz", mass=[60.0, 80.0])
    ...     both = scan_samples([], [f"{folder}/qcd.npz"], [f"{folder}/w.npz"])
    >>> both.rows
    4
    """
    named, *files = (locate(*names) if names else [] for names in (events, background, signal))
    of_background, of_signal = map(Tables, files)
    found, seen = list[Location](), Tables()
    for location in (*named, *files[0], *files[1]):
        if location in seen:
            continue
        if location in of_background and location in of_signal:
            raise ValueError(f"{location} is named as a file of background as well as of signal")
        if background and location not in of_background and location not in of_signal:
            raise ValueError(
                f"{location} is named neither as a file of background nor of signal; in "
                "--background-files and --signal-files put patterns in quotes, or repeat the option"
            )
        found.append(location)
        seen.add(location)
    if not found:
        raise ValueError("no file is named; expected at least one")
    return Stream(found, [open_source(location) for location in found])
