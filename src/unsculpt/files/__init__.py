"""Events in files: ROOT, Parquet, Arrow, HDF5, CSV and npz, read and written in chunks."""

from unsculpt.files.apply import Applied, apply, targets
from unsculpt.files.arrays import FILE, ROW
from unsculpt.files.expressions import Expression, parse
from unsculpt.files.formats import create
from unsculpt.files.sample import Sample, read_sample
from unsculpt.files.stream import Stream, scan, scan_samples

__all__ = [
    "FILE",
    "ROW",
    "Applied",
    "Expression",
    "Sample",
    "Stream",
    "apply",
    "create",
    "parse",
    "read_sample",
    "scan",
    "scan_samples",
    "targets",
]
