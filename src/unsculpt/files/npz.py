"""NumPy's archives: one array a column."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from unsculpt.files.arrays import to_arrow, to_numpy
from unsculpt.files.formats import Put, flat_only
from unsculpt.files.remote import AnyPath, readable


@dataclass(frozen=True)
class NpzSource:
    """The arrays of an archive, all of one length."""

    path: AnyPath
    types: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return next(iter(self.types.values()))[0][0]

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of these columns."""
        empty = {name: self.types[name] for name in columns}
        arrays = {name: np.empty((0, *shape[1:]), dtype) for name, (shape, dtype) in empty.items()}
        return pa.schema([(name, _column(array).type) for name, array in arrays.items()])

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        with ExitStack() as stack:
            archive = stack.enter_context(ZipFile(stack.enter_context(readable(self.path))))
            members = {name: stack.enter_context(_open(archive, name)) for name in columns}
            for member in members.values():
                _header(member)
            for start in range(0, self.rows, rows):
                now = min(rows, self.rows - start)
                yield pa.table({name: self._read(members[name], name, now) for name in columns})

    def _read(self, member: IO[bytes], name: str, rows: int) -> pa.Array:
        shape, dtype = self.types[name]
        size = rows * int(np.prod(shape[1:])) * dtype.itemsize
        return _column(np.frombuffer(member.read(size), dtype).reshape(rows, *shape[1:]))


def source(path: AnyPath, inside: str) -> NpzSource:
    """Look into a file."""
    types, left_out = {}, []
    try:
        with readable(path) as file, ZipFile(file) as archive:
            for name in (info.filename.removesuffix(".npy") for info in archive.infolist()):
                with _open(archive, name) as member:
                    shape, column_major, dtype = _header(member)
                one_row_an_event = shape and not (column_major and len(shape) > 1)
                if one_row_an_event and _is_readable(dtype):
                    types[name] = shape, dtype
                else:
                    left_out.append(name)
    except BadZipFile as error:
        raise OSError(error) from None
    if left_out:
        warnings.warn(
            f"{path}: left out what is not numbers or text, a row an event after the other: "
            f"{', '.join(left_out)}",
            stacklevel=2,
        )
    if not types:
        raise ValueError(f"{path} has no array with a row for each event")
    if len({shape[0] for shape, _ in types.values()}) != 1:
        lengths = ", ".join(f"{name} {shape[0]:,}" for name, (shape, _) in types.items())
        raise ValueError(f"{path}: expected arrays of one length, but these differ: {lengths}")
    return NpzSource(path, types)


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it.

    An array's length comes before its numbers: until it is known, columns wait in nameless files.
    """
    flat_only(schema, "npz")
    with ExitStack() as stack:
        waiting = {
            name: stack.enter_context(TemporaryFile(dir=path.parent)) for name in schema.names
        }
        parts: dict[str, list[tuple[tuple[int, ...], np.dtype[Any]]]] = {n: [] for n in waiting}

        def put(table: pa.Table) -> None:
            for name, file in waiting.items():
                array = to_numpy(table[name])
                parts[name].append((array.shape, array.dtype))
                np.save(file, array)

        yield put
        if not parts or not next(iter(parts.values())):
            put(schema.empty_table())
        with ZipFile(path, "w") as archive:
            for name, file in waiting.items():
                file.seek(0)
                shapes, dtypes = zip(*parts[name], strict=True)
                dtype = np.result_type(*dtypes)  # text is as wide as its longest
                shape = (sum(s[0] for s in shapes), *shapes[0][1:])
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False}
                    npy.write_array_header_2_0(member, header | {"shape": shape})
                    for _ in shapes:
                        member.write(np.load(file).astype(dtype, copy=False).tobytes())


def _column(array: NDArray[Any]) -> pa.Array:
    return to_arrow(np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array)


def _is_readable(dtype: np.dtype[Any]) -> bool:
    one = dtype.base
    return one.kind in "biuUSmM" or (one.kind == "f" and one.itemsize <= 8)


def _open(archive: ZipFile, name: str) -> IO[bytes]:
    return archive.open(f"{name}.npy")


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(member)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    return read(member)
