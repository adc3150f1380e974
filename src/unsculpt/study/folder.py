"""The folder of a run: what it is about, the results of every finished task, and their table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unsculpt import __version__
from unsculpt.atomic import atomic_write
from unsculpt.study.evaluation import Values
from unsculpt.study.presets import Preset
from unsculpt.study.results import Results
from unsculpt.study.sample import Splits, splits
from unsculpt.study.tasks import Model, Task, studies, trainings

Row = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class Part(NamedTuple):
    """What a task leaves behind: numbers for the table, and arrays for others to use."""

    rows: list[Row]
    arrays: Arrays


@dataclass(frozen=True)
class Folder:
    """A folder of results.

    Attributes:
        path: where it is.
        preset: how much of the study.
        data: W_high_level.npz, or None for the shipped jets.
        jets: those of the run.
    """

    path: Path
    preset: Preset
    data: Path | None
    jets: Splits

    @classmethod
    def begin(cls, path: Path, preset: Preset, data: Path | None) -> Self:
        """Write down what a run is about, unless another version has begun one there."""
        folder = cls(path, preset, data, splits(data, preset.jets))
        description = {
            "preset": asdict(preset),
            "data": None if data is None else str(data),
            "unsculpt": __version__,
        }
        if folder._description.exists():
            folder.check_version()
        path.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder._description) as draft:
            draft.write_text(json.dumps(description, indent=1))
        return folder

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the folder of a finished run."""
        if not (path / "results.parquet").exists():
            raise FileNotFoundError(f"{path} has no results.parquet; run the study into it first")
        description = json.loads((path / "run.json").read_text())
        preset = Preset.restore(description["preset"])
        data = None if description["data"] is None else Path(description["data"])
        return cls(path, preset, data, splits(data, preset.jets))

    def check_version(self) -> None:
        """Refuse a folder of another version, whose recipes may differ."""
        before = json.loads(self._description.read_text()).get("unsculpt", "of unknown version")
        if before != __version__:
            raise ValueError(
                f"{self.path} was begun by unsculpt {before}, and this is {__version__}: their "
                "results do not belong in one table; choose another folder for the output"
            )

    @property
    def trainings(self) -> list[Task]:
        """What is to be trained, in order."""
        return trainings(self.preset, self.jets.fingerprint)

    @property
    def tasks(self) -> list[Task]:
        """That, and the studies that work on the scores."""
        return self.trainings + studies(self.preset, self.jets.fingerprint)

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

    def score(self, model: Model, step: str) -> Values:
        """Return the scores of the test jets by one classifier, as it is or after a flow."""
        task = next(t for t in self.tasks if t.step == step and model in t.kept)
        score: Values = self.arrays(task)["test"][task.kept.index(model)]
        return score

    def merge(self) -> Path:
        """Write one table of all tasks that are done."""
        tables = [pq.read_table(self._rows(task)) for task in self.tasks if self.has(task)]
        path = self.path / "results.parquet"
        with atomic_write(path) as draft:
            pq.write_table(pa.concat_tables(tables, promote_options="permissive"), draft)
        return path

    @cached_property
    def results(self) -> Results:
        """The table."""
        return Results.read(self.path / "results.parquet")

    @property
    def _description(self) -> Path:
        return self.path / "run.json"

    def _rows(self, task: Task) -> Path:
        return self.path / "parts" / f"{task.name}.parquet"

    def _arrays(self, task: Task) -> Path:
        return self.path / "parts" / f"{task.name}.npz"
