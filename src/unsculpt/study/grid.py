"""Run the study."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from unsculpt import __version__
from unsculpt.atomic import atomic_write
from unsculpt.study.cluster import complete_on_cluster
from unsculpt.study.finished import finished
from unsculpt.study.plan import show_plan
from unsculpt.study.presets import PRESETS, Preset
from unsculpt.study.sample import Splits, splits
from unsculpt.study.steps import perform
from unsculpt.study.store import Store
from unsculpt.study.tasks import Task, studies, tasks


def run(
    preset: str | Preset = "quick",
    output: str | Path = "reproduction",
    *,
    data: str | Path | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    console: Console | None = None,
) -> Path:
    """Train everything that the output folder lacks, and write the table of results.

    Every finished task is on disk at once: interrupted, the same call goes on from there.

    Args:
        preset: "quick", "paper", or one of your own.
        output: folder for the results.
        data: W_high_level.npz; the shipped jets if not given.
        scheduler: address of a Dask cluster to work on.
        workers: processes to start on this machine, as a cluster; needs the extra `dask`.
        console: where to report.

    Returns:
        The table, `results.parquet` in the folder.
    """
    console = console or Console()
    preset = PRESETS[preset] if isinstance(preset, str) else preset
    source = None if data is None else Path(data)
    jets, store = splits(source, preset.jets), Store(Path(output))
    plan = tasks(preset, jets.fingerprint)
    about = {
        "preset": asdict(preset),
        "data": None if source is None else str(source),
        "unsculpt": __version__,
    }
    description = store.folder / "run.json"
    if description.exists():
        _check_version(description)
    store.folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(description) as draft:
        draft.write_text(json.dumps(about, indent=1))
    todo = [task for task in plan if not store.has(task)]
    show_plan(plan, todo, preset, jets, console)
    if scheduler is None and workers is None:
        complete(todo, jets, store, console)
    else:
        complete_on_cluster(
            todo, source, preset.jets, store, console, scheduler=scheduler, workers=workers
        )
    return store.merge(plan + studies(preset, jets.fingerprint))


def _check_version(path: Path) -> None:
    """Refuse a folder of another version, whose recipes may differ."""
    before = json.loads(path.read_text()).get("unsculpt", "of unknown version")
    if before != __version__:
        raise ValueError(
            f"{path.parent} was begun by unsculpt {before}, and this is {__version__}: their "
            "results do not belong in one table; choose another folder for the output"
        )


def study(output: str | Path, *, console: Console | None = None) -> Path:
    """Do the studies that work on the scores of a run, and add them to its table.

    They need no GPU, and the bump hunt has an extra of its own: without it, it is left out.
    """
    console, run = console or Console(), finished(Path(output))
    _check_version(run.store.folder / "run.json")
    todo = [task for task in run.tasks if not run.store.has(task)]
    if not all(find_spec(name) for name in ("iminuit", "pyBumpHunter")):
        console.print("Without the bump hunt, which needs: pip install 'unsculpt\\[search]'")
        todo = [task for task in todo if task.step != "search"]
    complete(todo, run.jets, run.store, console)
    return run.store.merge(run.tasks)


def complete(todo: list[Task], jets: Splits, store: Store, console: Console) -> None:
    """Do tasks one after the other and keep the results of each."""
    begin = time.perf_counter()
    for i, task in enumerate(todo, start=1):
        start = time.perf_counter()
        store.write(task, perform(task, jets, [store.arrays(needed) for needed in task.needs]))
        now = time.perf_counter()
        console.print(
            f"{i}/{len(todo)} {task.title}: {now - start:.0f} s ({now - begin:.0f} s in all)"
        )
