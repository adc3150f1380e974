"""The formats: what each can do, and which one a name means."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from unsculpt.atomic import atomic_write
from unsculpt.files.arrays import to_numpy
from unsculpt.files.location import Location
from unsculpt.files.remote import AnyPath, Remote

# Each is imported when a file asks for it.
FORMATS = {
    ".root": "root",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".csv": "csv",
    ".npz": "npz",
}
# Where in a file a table was, kept with its schema: the table goes to the same place in a new file.
INSIDE, KIND = b"unsculpt.inside", b"unsculpt.kind"
# Names that a format would cut or take for a path.
LOST = {"hdf5": r"/|\0|^\.*$", "npz": r"\0", "root": r"^/|\0"}
# NumPy's kinds that a format has no room for: times, lengths of time, Python's objects.
NO_ROOM = {"hdf5": "MmO", "npz": "O", "root": "MmO"}
# Where only fractions and text can be missing.
NEVER_MISSING = {"hdf5", "root"}

Put = Callable[[pa.Table], None]


class Source(Protocol):
    """One table in one file."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, if the file tells."""

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of these columns."""

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""


@dataclass(frozen=True)
class Typed:
    """A table in a file that tells its types."""

    path: AnyPath
    types: pa.Schema
    rows: int | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.types.names)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of these columns."""
        return pa.schema([self.types.field(name) for name in columns], self.types.metadata)


class Format(Protocol):
    """What the module of each format has."""

    def source(self, path: AnyPath, inside: str) -> Source:
        """Look into a file."""

    def sink(self, path: Path, inside: str, schema: pa.Schema) -> AbstractContextManager[Put]:
        """Start a file; give the function that adds rows to it."""


def open_source(location: Location) -> Source:
    """Look into a file, in the format its name ends in."""
    path = location.path
    if isinstance(path, Path) and path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, and files are read more than once; write what comes "
            "from it to a file first"
        )
    with reading(location):
        source = module_of(format_of(location)).source(location.path, location.inside)
        times = Counter(source.columns)  # names that are no text show here first
    twice = [name for name in times if times[name] > 1]
    if twice:
        raise ValueError(f"{location} has more than one column {twice[0]!r}; rename all but one")
    return source


@contextmanager
def reading(location: Location) -> Iterator[None]:
    """Say which file it was that could not be read.

    Damage shows as anything, from zlib's errors to KeyErrors; an error that names the file says
    enough by itself.
    """
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(location.path) in str(error):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        parts = isinstance(location.path, Remote) * ", and does its server give parts of files"
        raise ValueError(f"{location} cannot be read: {reason}; is it whole{parts}?") from None


@contextmanager
def create(output: str | os.PathLike[str] | Location, schema: pa.Schema) -> Iterator[Put]:
    """Write a file whole or not at all, in the format its name ends in.

    Args:
        output: the file to write; its ending names the format.
        schema: the names and types of its columns.

    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from unsculpt.files import scan
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "events.parquet"
    >>> with create(path, pa.schema({"mass": pa.float64()})) as put:
    ...     put(pa.table({"mass": [80.4, 91.2]}))
    >>> scan(path).rows
    2
    """
    location = output if isinstance(output, Location) else Location.parse(output)
    if isinstance(location.path, Remote):
        raise ValueError(f"{location} is a URL, which can only be read; write to a file here")
    kind = format_of(location)
    for name, column in zip(schema.names, schema.empty_table().columns, strict=True):
        if kind in LOST and re.search(LOST[kind], name):
            raise ValueError(
                f"{location.path} cannot hold a column called {name!r}; rename it, or write Parquet"
            )
        flat = kind in NO_ROOM and not pa.types.is_nested(column.type)
        if flat and to_numpy(column).dtype.kind in NO_ROOM[kind]:
            raise ValueError(
                f"{location.path} cannot hold {name}, a column of {column.type}; write Parquet or "
                "Arrow"
            )
    inside = location.inside or (schema.metadata or {}).get(INSIDE, b"").decode()
    with atomic_write(location.path) as draft, module_of(kind).sink(draft, inside, schema) as put:

        def put_whole(table: pa.Table) -> None:
            _refuse_gaps(table, location)
            put(table)

        yield put_whole if kind in NEVER_MISSING else put


def _refuse_gaps(table: pa.Table, location: Location) -> None:
    """Refuse whole numbers and booleans with missing ones: NaN is none, and would become any."""
    for name, values in zip(table.column_names, table.columns, strict=True):
        while pa.types.is_nested(values.type) and not pa.types.is_struct(values.type):
            values = pc.list_flatten(values)
        kind = values.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if values.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise ValueError(
                f"{location.path} cannot hold {name}, a column of {kind} with missing values; "
                "write Parquet, Arrow or CSV"
            )


def format_of(location: Location) -> str:
    """Return the format a name ends in."""
    if isinstance(location.path, Path) and location.path.is_dir():
        raise ValueError(
            f"{location.path} is a folder; name its files, as '{location.path}/*.root'"
        )
    suffix = location.path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{location} should end in one of {', '.join(FORMATS)}")
    return FORMATS[suffix]


def module_of(kind: str) -> Format:
    """Return the module of a format."""
    return cast("Format", import_module(f"unsculpt.files.{kind}"))


def flat_only(schema: pa.Schema, what: str, *, arrays: bool = True) -> None:
    """Refuse columns of lists, and arrays of fixed length, where a format has no room for them."""
    nested = [
        field.name
        for field in schema
        if pa.types.is_nested(field.type)
        and not (arrays and pa.types.is_fixed_size_list(field.type))
    ]
    if nested:
        raise ValueError(
            f"{what} has no room for lists, which {', '.join(nested)} "
            f"{'is' if len(nested) == 1 else 'are'}; write ROOT, Parquet or Arrow instead"
        )
