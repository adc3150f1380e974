"""HDF5 files: a group of datasets, one a column, or one dataset of records."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unsculpt.files.arrays import to_arrow, to_numpy
from unsculpt.files.formats import INSIDE, Put, flat_only
from unsculpt.files.remote import AnyPath, readable


@dataclass(frozen=True)
class Hdf5Source:
    """The columns of a group or of a dataset of records."""

    path: AnyPath
    inside: str
    columns: list[str]
    rows: int

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of these columns."""
        with readable(self.path) as where, h5py.File(where) as file:
            table = file[self.inside]
            # Of records a part: table[name] would read the whole file for each of them.
            table = table[:0] if isinstance(table, h5py.Dataset) else table
            fields = [(name, _read(table[name], slice(0, 0)).type) for name in columns]
        return pa.schema(fields, {INSIDE: self.inside.strip("/")})

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        with readable(self.path) as where, h5py.File(where) as file:
            table = file[self.inside]
            for start in range(0, self.rows, rows):
                part = slice(start, start + rows)
                # Records are read whole: taking fields one by one would read the file for each.
                read = table[part] if isinstance(table, h5py.Dataset) else None
                yield pa.table(
                    {
                        name: _read(table[name], part) if read is None else to_arrow(read[name])
                        for name in columns
                    }
                )


def source(path: AnyPath, inside: str) -> Hdf5Source:
    """Look into a file."""
    with readable(path) as where, h5py.File(where) as file:
        if inside and inside not in file:
            raise ValueError(f"{path} has no {inside!r}; it has {_places(file)}")
        table = file[inside or _only(file)]
        if isinstance(table, h5py.Dataset):
            if not table.dtype.names:
                raise ValueError(f"{path}:{table.name} is one array; expected records or a group")
            types = {name: table.dtype[name] for name in table.dtype.names}
            return Hdf5Source(path, table.name, _readable(types, path), len(table))
        sets = {name: item for name, item in table.items() if isinstance(item, h5py.Dataset)}
        columns = _readable({name: item.dtype for name, item in sets.items()}, path)
        lengths = {name: len(table[name]) if table[name].shape else 0 for name in columns}
        if len(set(lengths.values())) != 1:
            found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
            raise ValueError(
                f"{path}:{table.name} should hold datasets of one length, not {found or 'none'}; "
                f"name another place after a colon: {_places(file)}"
            )
        return Hdf5Source(path, table.name, columns, lengths[columns[0]])


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    flat_only(schema, "HDF5 as written here")
    # Ctrl-C reaches the main thread alone. There h5py would swallow it and leave a hole.
    with ThreadPoolExecutor(1) as other:
        writer = _writer(path, inside, schema)
        put = other.submit(writer.__enter__).result()
        try:
            yield lambda table: other.submit(put, table).result()
        except BaseException as error:
            other.submit(writer.__exit__, type(error), error, None)
            raise
        other.submit(writer.__exit__, None, None, None).result()


@contextmanager
def _writer(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    with _Forgiving(path) as raw, h5py.File(raw, "w") as file:
        group = file.require_group(inside or "/")
        empty = schema.empty_table()
        for name in schema.names:
            array = _storable(to_numpy(empty[name]))
            group.create_dataset(
                name,
                data=array,
                maxshape=(None, *array.shape[1:]),
                chunks=(2**16, *array.shape[1:]),
                dtype=array.dtype,
                compression="lzf" if array.dtype.kind in "biuf" else None,
            )

        def put(table: pa.Table) -> None:
            for name in schema.names:
                array, dataset = _storable(to_numpy(table[name])), group[name]
                dataset.resize(len(dataset) + len(array), axis=0)
                dataset[len(dataset) - len(array) :] = array
            raw.check()

        yield put
        file.flush()
        raw.check()


class _Forgiving(FileIO):
    """A file that keeps what went wrong to itself until asked.

    HDF5 takes Python down with it if the disk is full when it closes a file, or if it does not find
    again what it wrote: what has no room on the disk stays in memory until then.
    """

    error: OSError | None = None

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.without_room: list[tuple[int, bytes]] = []

    def write(self, data: Any) -> int:
        """Write all, or remember it and why not."""
        rest = memoryview(data).cast("B")
        try:
            while rest and not self.error:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.error = error
        if rest:
            start = self.tell()
            self.without_room.append((start, bytes(rest)))
            self.seek(start + len(rest))
        return len(data)

    def readinto(self, buffer: Any) -> int:
        """Read what was written, wherever it is."""
        view, start = memoryview(buffer).cast("B"), self.tell()
        read = super().readinto(view) or 0
        for at, data in self.without_room:
            first, last = max(at, start), min(at + len(data), start + len(view))
            if first < last:
                view[first - start : last - start] = data[first - at : last - at]
                read = max(read, last - start)
        self.seek(start + read)
        return read

    def truncate(self, size: int | None = None) -> int:
        """Make the file as long as this, or remember why not."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def check(self) -> None:
        """Say what went wrong."""
        if self.error:
            raise self.error


def _readable(types: dict[str, np.dtype[Any]], path: AnyPath) -> list[str]:
    """Return the columns that hold numbers or text, and warn of others."""
    unknown = []
    for name, dtype in types.items():
        one = dtype.base
        text = one.kind == "S" or h5py.check_string_dtype(one) is not None
        if not (text or one.kind in "biu" or (one.kind == "f" and one.itemsize <= 8)):
            unknown.append(name)
    if unknown:
        warnings.warn(
            f"{path}: left out what is neither number nor text: {', '.join(unknown)}", stacklevel=2
        )
    return [name for name in types if name not in unknown]


def _read(dataset: Any, part: slice) -> pa.Array:
    values = dataset[part]
    return to_arrow(_text(values) if values.dtype.kind in "SO" else values)


def _text(values: NDArray[Any]) -> NDArray[Any]:
    words = [v.decode() if isinstance(v, bytes) else str(v) for v in values.flat]
    return np.array(words, str).reshape(values.shape)


def _storable(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(h5py.string_dtype()) if values.dtype.kind == "U" else values


def _only(file: h5py.File) -> str:
    """Return where the table is: in the file itself or the only thing there, however deep."""
    place = file
    while isinstance(place, h5py.Group) and len(place) == 1:
        (item,) = place.values()
        if isinstance(item, h5py.Dataset) and not item.dtype.names:
            break  # a column
        place = item
    return str(place.name)


def _places(file: h5py.File) -> str:
    found: list[str] = []
    file.visititems(
        lambda name, item: (
            found.append(name) if isinstance(item, h5py.Group) or item.dtype.names else None
        )
    )
    return ", ".join(found) or "no groups"
