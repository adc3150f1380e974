"""CSV files with a line of names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from unsculpt.files.formats import Put, Typed, flat_only
from unsculpt.files.remote import AnyPath, readable

BLOCK = 2**22  # bytes at once; the first tells the types


class CsvSource(Typed):
    """The table in a CSV file; an empty field is a missing value."""

    def chunks(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read these columns, at most so many rows at once."""
        with readable(self.path) as file, _open(file, self.schema(columns)) as reader:
            while (batch := _next(reader, self.path)) is not None:
                table = pa.Table.from_batches([batch])
                for start in range(0, len(table), rows):
                    yield table[start : start + rows]


def source(path: AnyPath, inside: str) -> CsvSource:
    """Look into a file."""
    expected = "expected a line of names, then fields separated by commas"
    try:
        with readable(path) as file, _open(file) as reader:
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}; {expected}") from None
    if len(schema) == 1 and {";", "\t"} & set(schema.names[0]):
        raise ValueError(f"{path} has one column, {schema.names[0]!r}; {expected}")
    return CsvSource(path, schema)


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    flat_only(schema, "CSV", arrays=False)
    with pa.csv.CSVWriter(str(path), schema) as writer:
        yield writer.write_table


def _open(file: Any, schema: pa.Schema | None = None) -> pa.csv.CSVStreamingReader:
    wanted = schema and pa.csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    return pa.csv.open_csv(
        file, read_options=pa.csv.ReadOptions(block_size=BLOCK), convert_options=wanted
    )


def _next(reader: pa.csv.CSVStreamingReader, path: AnyPath) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{path}: {error}. The first {BLOCK // 2**20} MB tell what a column holds; "
            "write whole numbers as 1.0 if fractions follow later"
        ) from None
