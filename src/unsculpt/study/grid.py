"""Run the study."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.util import find_spec
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table

from unsculpt.devices import cores_as_devices
from unsculpt.study.folder import Folder
from unsculpt.study.presets import PRESETS, Preset
from unsculpt.study.sample import few_outside
from unsculpt.study.steps import perform
from unsculpt.study.tasks import Task

# Tasks at a time on an accelerator. One trains while another is compiled, and the processor's
# cores fit splines and judge scores.
LANES = 3


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
    folder = Folder.begin(Path(output), preset, None if data is None else Path(data))
    todo = [task for task in folder.trainings if not folder.has(task)]
    _show_plan(folder, todo, console)
    if scheduler is None and workers is None:
        _complete(todo, folder, console, 1 if jax.default_backend() == "cpu" else LANES)
    else:
        # It can read files of events, and their libraries take a second to load.
        from unsculpt.study.cluster import complete_on_cluster

        complete_on_cluster(todo, folder, console, scheduler=scheduler, workers=workers)
    return folder.merge()


def study(output: str | Path, *, console: Console | None = None) -> Path:
    """Do the studies that work on the scores of a run, and add them to its table.

    They need no GPU, and the bump hunt has an extra of its own: without it, it is left out.
    """
    console, folder = console or Console(), Folder.open(Path(output))
    folder.check_version()
    todo = [task for task in folder.tasks if not folder.has(task)]
    if not find_spec("pyBumpHunter"):
        console.print("Without the bump hunt, which needs: pip install 'unsculpt\\[search]'")
        todo = [task for task in todo if task.step != "search"]
    _complete(todo, folder, console)
    return folder.merge()


def _show_plan(folder: Folder, todo: list[Task], console: Console) -> None:
    """Print what is to be trained; tasks that are done say so."""
    cores_as_devices()  # first: to ask JAX for its device starts it
    table = Table(
        "task",
        "models",
        "epochs",
        "",
        title=f"Preset {folder.preset.name} on {jax.devices()[0].device_kind}",
        title_justify="left",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for task in folder.trainings:
        runs = task.options[0] if task.step in ("paper flow", "cuts") else 0
        epochs = str(task.epochs) if task.epochs else ""
        done = "" if task in todo else "done"
        table.add_row(task.title, str(len(task.models) + runs), epochs, done)
    console.print(table)
    console.print(
        f"{len(folder.jets.train):,} jets to train, {len(folder.jets.test):,} to test.\n"
        "Finished tasks are kept: interrupted, the same command goes on."
    )


def _complete(todo: list[Task], folder: Folder, console: Console, lanes: int = 1) -> None:
    """Do tasks, several at a time if there are lanes for it, and keep the results of each."""
    begin, done = time.perf_counter(), []

    def complete(task: Task) -> None:
        start = time.perf_counter()
        needed = [folder.arrays(other) for other in task.needs]
        folder.write(task, perform(task, folder.jets, needed))
        now = time.perf_counter()
        done.append(task)
        took = f"{now - start:.0f} s ({now - begin:.0f} s in all)"
        console.print(f"{len(done)}/{len(todo)} {task.title}: {took}")

    # Here and not in each task: threads have their filters of warnings in common.
    with few_outside():
        if lanes > 1:
            _in_lanes(complete, todo, lanes)
        else:
            for task in todo:
                complete(task)


def _in_lanes(complete: Callable[[Task], None], todo: list[Task], lanes: int) -> None:
    """Keep all lanes busy with the first tasks that need nothing which is still to be done.

    After an error or Ctrl-C what is under way ends, and nothing else begins.
    """
    waiting, running = list(todo), dict[Future[None], Task]()
    with ThreadPoolExecutor(lanes) as pool:
        while waiting or running:
            unfinished = {*waiting, *running.values()}
            ready = [task for task in waiting if unfinished.isdisjoint(task.needs)]
            for task in ready[: lanes - len(running)]:
                waiting.remove(task)
                running[pool.submit(complete, task)] = task
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                future.result()
