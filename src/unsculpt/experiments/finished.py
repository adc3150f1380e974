"""A run on disk, for those who draw and write about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.experiments.presets import Preset
from unsculpt.experiments.results import Results
from unsculpt.experiments.sample import Splits, splits
from unsculpt.experiments.store import Arrays, Store
from unsculpt.experiments.tasks import Task, studies, tasks


@dataclass(frozen=True)
class Finished:
    """A run on disk."""

    preset: Preset
    jets: Splits
    store: Store
    tasks: list[Task]
    results: Results

    def arrays(self, family: str, step: str) -> Arrays:
        """Return the arrays of a task."""
        (task,) = (t for t in self.tasks if (t.family, t.step) == (family, step))
        return self.store.arrays(task)

    def scores(self, family: str, step: str) -> NDArray[np.floating[Any]]:
        """Return the scores of the test jets by the first seed, (strengths, n)."""
        scores = self.arrays(family, step)["test"]
        if step != "classifier":
            return scores
        (task,) = (t for t in self.tasks if (t.family, t.step) == (family, step))
        return scores[[seed == 0 for _, seed in task.models]]


def finished(output: Path) -> Finished:
    """Open the folder of a run."""
    if not (output / "results.parquet").exists():
        raise FileNotFoundError(f"{output} has no results.parquet; run the study into it first")
    about = json.loads((output / "run.json").read_text())
    preset = Preset.restore(about["preset"])
    jets = splits(None if about["data"] is None else Path(about["data"]), preset.jets)
    return Finished(
        preset,
        jets,
        Store(output),
        tasks(preset, jets.fingerprint) + studies(preset, jets.fingerprint),
        Results.read(output / "results.parquet"),
    )
