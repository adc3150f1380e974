"""Results on disk: one pair of files for every finished task, and one table of everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unsculpt.atomic import atomic_write
from unsculpt.study.tasks import Task

Row = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class Part(NamedTuple):
    """What a task leaves behind: numbers for the table, and arrays for others to use."""

    rows: list[Row]
    arrays: Arrays


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    folder: Path

    def has(self, task: Task) -> bool:
        """Whether the task is done."""
        return self._rows(task).exists()

    def write(self, task: Task, part: Part) -> None:
        """Keep the results of a task: the table last, as it says that the task is done."""
        self._rows(task).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self._arrays(task)) as draft:
            np.savez(draft, **part.arrays)  # type: ignore[arg-type]
        with atomic_write(self._rows(task)) as draft:
            pq.write_table(pa.Table.from_pylist(part.rows), draft)

    def arrays(self, task: Task) -> Arrays:
        """Return the arrays of a task."""
        with np.load(self._arrays(task)) as arrays:
            return dict(arrays)

    def rows(self, task: Task) -> list[Row]:
        """Return the numbers of a task."""
        return list(pq.read_table(self._rows(task)).to_pylist())

    def merge(self, tasks: Iterable[Task]) -> Path:
        """Write one table of all tasks that are done."""
        tables = [pq.read_table(self._rows(task)) for task in tasks if self.has(task)]
        path = self.folder / "results.parquet"
        with atomic_write(path) as draft:
            pq.write_table(pa.concat_tables(tables, promote_options="permissive"), draft)
        return path

    def _rows(self, task: Task) -> Path:
        return self.folder / "parts" / f"{task.name}.parquet"

    def _arrays(self, task: Task) -> Path:
        return self.folder / "parts" / f"{task.name}.npz"
