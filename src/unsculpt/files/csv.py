"""CSV files with a line of names."""

from __future__ import annotations

import re
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
        schema = self.schema(columns)
        with readable(self.path) as file, _open(file, schema) as reader:
            try:
                for batch in reader:
                    table = pa.Table.from_batches([batch])
                    for start in range(0, len(table), rows):
                        yield table[start : start + rows]
            except pa.ArrowInvalid as error:
                raise ValueError(f"{self.path}: {self._first_wrong(schema, error)}") from None

    def _first_wrong(self, schema: pa.Schema, error: pa.ArrowInvalid) -> str:
        """Say which row cannot be read: one thread alone counts, the line of names included."""
        with readable(self.path) as file, _open(file, schema, threads=False) as reader:
            try:
                for _ in reader:
                    pass
            except pa.ArrowInvalid as counted:
                error = counted
        column = re.search(r"CSV column #(\d+)", str(error))  # of those in the file
        if column is None:
            return _words(error)
        return (
            f"{self.columns[int(column[1])]} {_words(error)}. The first {BLOCK // 2**20} MB tell "
            "what a column holds; write whole numbers as 1.0 if fractions follow later"
        )


def source(path: AnyPath, inside: str) -> CsvSource:
    """Look into a file."""
    expected = "expected a line of names, then fields separated by commas"
    try:
        with readable(path) as file, _open(file, threads=False) as reader:
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {_words(error)}; {expected}") from None
    if len(schema) == 1 and {";", "\t"} & set(schema.names[0]):
        raise ValueError(f"{path} has one column, {schema.names[0]!r}; {expected}")
    return CsvSource(path, schema)


@contextmanager
def sink(path: Path, inside: str, schema: pa.Schema) -> Iterator[Put]:
    """Start a file; give the function that adds rows to it."""
    flat_only(schema, "CSV", arrays=False)
    with pa.csv.CSVWriter(str(path), schema) as writer:
        yield writer.write_table


def _open(
    file: Any, schema: pa.Schema | None = None, *, threads: bool = True
) -> pa.csv.CSVStreamingReader:
    wanted = schema and pa.csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    how = pa.csv.ReadOptions(block_size=BLOCK, use_threads=threads)
    return pa.csv.open_csv(file, read_options=how, convert_options=wanted)


def _words(error: pa.ArrowInvalid) -> str:
    """Return what is wrong, and in which row; pyarrow counts the line of names as one."""
    row = re.search(r"Row #(\d+): ", str(error))
    return f"in row {int(row[1]) - 1:,}: {str(error)[row.end() :]}" if row else str(error)
