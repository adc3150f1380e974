"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from unsculpt.files.formats import Put, Typed
from unsculpt.files.remote import AnyPath, readable


class ParquetSource(Typed):
    """The table in a Parquet file."""

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        with readable(self.path) as where, pq.ParquetFile(where) as file:
            for batch in file.iter_batches(rows, columns=list(columns)):
                # A name with a dot means a part of a column too: take what was asked for.
                yield pa.Table.from_batches([batch]).select(list(columns))


def source(path: AnyPath, inside: str) -> ParquetSource:
    """Look into a file."""
    with readable(path) as where, pq.ParquetFile(where) as file:
        return ParquetSource(path, file.schema_arrow, file.metadata.num_rows)


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    # Fractions hardly ever repeat: looking for those that do took most of the time to write.
    repeating = [field.name for field in schema if not _has_fractions(field.type)]
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeating) as writer:
        yield writer.write_table


def _has_fractions(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_nested(kind))
