"""Arrow files; Feather's second version is another name for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from unsculpt.files.formats import Put, Typed
from unsculpt.files.remote import AnyPath


class ArrowSource(Typed):
    """The table in an Arrow file."""

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        fields = sorted(self.types.get_field_index(name) for name in columns)
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with _opened(self.path) as file, pa.ipc.open_file(file, options=options) as reader:
            for i in range(reader.num_record_batches):
                table = pa.Table.from_batches([reader.get_batch(i)]).select(list(columns))
                for start in range(0, len(table), rows):
                    yield table[start : start + rows]


def source(path: AnyPath, inside: str) -> ArrowSource:
    """Look into a file."""
    with _opened(path) as file, pa.ipc.open_file(file) as reader:
        return ArrowSource(path, pa.schema(map(_without_view, reader.schema)))


def _without_view(field: pa.Field) -> pa.Field:
    """Return a column of text as one that can be computed with: polars writes views of it."""
    kind = field.type
    if pa.types.is_string_view(kind):
        return field.with_type(pa.large_string())
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return field.with_type(pa.dictionary(kind.index_type, pa.large_string(), kind.ordered))
    return field


def _opened(path: AnyPath) -> Any:
    return pa.OSFile(str(path)) if isinstance(path, Path) else path.open()


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(str(path), schema, options=options) as writer:
        yield writer.write_table
