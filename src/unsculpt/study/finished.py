"""A run on disk, for those who draw and write about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.study.presets import Preset
from unsculpt.study.results import Results
from unsculpt.study.sample import Splits, splits
from unsculpt.study.store import Arrays, Store
from unsculpt.study.tasks import Model, Task, studies, tasks


@dataclass(frozen=True)
class Finished:
    """A run on disk."""

    preset: Preset
    jets: Splits
    store: Store
    tasks: list[Task]
    results: Results

    def arrays(self, step: str) -> Arrays:
        """Return the arrays of the first task of a step."""
        return self.store.arrays(next(task for task in self.tasks if task.step == step))

    def score(self, model: Model, step: str) -> NDArray[np.floating[Any]]:
        """Return the scores of the test jets by one classifier, as it is or after a flow."""
        task = next(t for t in self.tasks if t.step == step and model in t.kept)
        score: NDArray[np.floating[Any]] = self.store.arrays(task)["test"][task.kept.index(model)]
        return score


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
