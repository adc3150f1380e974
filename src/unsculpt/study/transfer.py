"""Take a run home from the machine that did it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.atomic import atomic_write
from unsculpt.study.finished import finished
from unsculpt.study.store import Store
from unsculpt.study.tasks import Model, Task, studies


def carry(output: str | Path, destination: str | Path) -> Path:
    """Copy a run without the scores that neither figures nor studies look at.

    Those are set to zero, which takes no room in a compressed file: a few megabytes are left of
    half a gigabyte.

    Args:
        output: the folder of the run.
        destination: the folder to write.

    Returns:
        The folder, for `study`, `draw` and `write_page`.
    """
    run, there = finished(Path(output)), Store(Path(destination))
    parts = there.folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for name in ("run.json", "results.parquet"):
        shutil.copy(run.store.folder / name, there.folder / name)
    wanted = {m for task in studies(run.preset, run.jets.fingerprint) for m in task.models}
    for task in filter(run.store.has, run.tasks):
        shutil.copy(run.store.folder / "parts" / f"{task.name}.parquet", parts)
        arrays = run.store.arrays(task)
        if task.step in ("classifier", "paper flow", "our flow"):
            arrays.pop("runs", None)  # the task about cuts has used them
            arrays = {name: _only(array, task, wanted) for name, array in arrays.items()}
        with atomic_write(parts / f"{task.name}.npz") as draft:
            np.savez_compressed(draft, **arrays)  # type: ignore[arg-type]
    return there.folder


def _only(array: NDArray[Any], task: Task, wanted: set[Model]) -> NDArray[Any]:
    """Set the rows of all other models to zero."""
    rows = [i for i, model in enumerate(task.kept) if model in wanted]
    few = np.zeros_like(array)
    few[rows] = array[rows]
    return few
