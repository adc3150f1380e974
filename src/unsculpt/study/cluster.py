"""The study spread over a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from unsculpt.files.cluster import connected
from unsculpt.study.folder import Arrays, Folder, Part
from unsculpt.study.sample import few_outside, splits
from unsculpt.study.steps import perform
from unsculpt.study.tasks import Task


def complete_on_cluster(
    todo: list[Task],
    folder: Folder,
    console: Console,
    *,
    scheduler: str | None,
    workers: int | None,
) -> None:
    """Do tasks on the workers of a cluster, each as soon as what it needs is there.

    A task is a pure function of its description, so the results are those of one machine. They
    are kept here as they arrive. Workers load the jets themselves: an original file has to be
    where they can read it.

    Args:
        todo: what to do, those that are needed first.
        folder: where results go.
        console: where to report.
        scheduler: address of a running cluster; None to start one here.
        workers: of a cluster that is started here.
    """
    from distributed import as_completed

    with connected(scheduler, workers) as client:
        futures: dict[Task, Any] = {}
        for task in todo:
            needed = [
                futures[other] if other in futures else client.scatter([folder.arrays(other)])[0]
                for other in task.needs
            ]
            futures[task] = client.submit(
                _perform, task, folder.data, folder.preset.jets, *needed, key=task.name
            )
        tasks = {future: task for task, future in futures.items()}
        done = as_completed(tasks, loop=client.loop, with_results=True)
        for i, (future, part) in enumerate(done, start=1):
            folder.write(tasks[future], part)
            console.print(f"{i}/{len(todo)} {tasks[future].title}")


def _perform(task: Task, data: Path | None, jets: int | None, *needed: Part | Arrays) -> Part:
    arrays = [part.arrays if isinstance(part, Part) else part for part in needed]
    with few_outside():
        return perform(task, splits(data, jets), arrays)
