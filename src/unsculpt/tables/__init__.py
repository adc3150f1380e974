"""Events in files: ROOT, Parquet, Arrow, HDF5, CSV and npz, read and written in chunks."""

from unsculpt.tables.apply import Applied, apply
from unsculpt.tables.expressions import Expression, parse
from unsculpt.tables.formats import create
from unsculpt.tables.sample import Sample, read_sample
from unsculpt.tables.stream import Stream, scan

__all__ = [
    "Applied",
    "Expression",
    "Sample",
    "Stream",
    "apply",
    "create",
    "parse",
    "read_sample",
    "scan",
]
