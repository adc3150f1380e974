"""Generate a sample of jets: in parallel, in parts, resuming where it stopped."""

import multiprocessing
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from unsculpt.datasets.generator.detector import Detector
    from unsculpt.datasets.generator.parts import Part

PART = 5000
"""Jets in a part: a minute or three of one core, which is what an interruption can lose."""

_done: Any = None  # the counter that workers share with the parent


def generate(
    path: str | Path,
    *,
    qcd: int = 0,
    w: int = 0,
    top: int = 0,
    seed: int = 1,
    workers: int | None = None,
    detector: "Detector | bool" = True,
    part: int = PART,
) -> Path:
    """Generate jets of 300 to 400 GeV and write them to one Parquet file.

    Protons collide at 13 TeV in Pythia 8; anti-kt jets of radius 1 with a mass of 50 to 300 GeV
    are kept, W and top jets when they contain all their quarks. The same seed gives the same
    jets, whatever the number of workers. Finished parts are kept beside the file in
    ``<name>.parts``: after an interruption, or to ask for more jets, run it again.

    Args:
        path: The file to write, ``*.parquet``.
        qcd: Number of jets from quarks and gluons.
        w: Number of W jets.
        top: Number of top jets.
        seed: Any number from 0.
        workers: Processes to use; one a core if not given.
        detector: The calorimeter; ``True`` is the standard one, ``False`` none at all.
        part: Jets in a part.

    Returns:
        The file that was written: the columns of :data:`unsculpt.datasets.COLUMNS`, a column
        ``process`` (0 QCD, 1 W, 2 top), and metadata that say how it was made.

    Example:
        >>> from unsculpt.datasets import generate
        >>> generate("jets.parquet", qcd=10_000, w=10_000)  # doctest: +SKIP
    """
    from unsculpt.datasets.generator.detector import Detector
    from unsculpt.datasets.generator.parts import Part, merge

    path = Path(path)
    wanted = {name: jets for name, jets in (("qcd", qcd), ("w", w), ("top", top)) if jets > 0}
    if not wanted:
        raise ValueError("no jets were asked for: give qcd, w or top a number")
    calorimeter = (Detector() if detector else None) if isinstance(detector, bool) else detector
    parts = [
        Part(name, number, part, seed, calorimeter)
        for name, jets in wanted.items()
        for number in range(-(-jets // part))
    ]
    parts.sort(key=lambda part: part.number)  # an early look then has every process
    folder = path.with_suffix(".parts")
    folder.mkdir(parents=True, exist_ok=True)
    _run(parts, folder, workers or os.cpu_count() or 1)
    merge(parts, wanted, folder, path)
    return path


def _run(parts: "list[Part]", folder: Path, workers: int) -> None:
    missing = [part for part in parts if not part.is_in(folder)]
    total = sum(part.jets for part in parts)
    resumed = total - sum(part.jets for part in missing)
    context = multiprocessing.get_context("spawn")  # a fork would share Pythia's and Rich's state
    counter = context.Value("q", 0)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.0f} jets/s"), TimeRemainingColumn(),
    )  # fmt: skip
    start = time.monotonic()
    with (
        Progress(*columns, speed_estimate_period=300) as progress,
        ProcessPoolExecutor(workers, context, _share, (counter,)) as pool,
    ):
        bar = progress.add_task("jets", total=total, completed=resumed, rate=0.0)
        futures = [pool.submit(_work, part, folder) for part in missing]
        try:
            while not all(future.done() for future in futures):
                time.sleep(0.5)
                rate = counter.value / (time.monotonic() - start)
                progress.update(bar, completed=resumed + counter.value, rate=rate)
                _raise_first_failure(futures)
        finally:
            pool.shutdown(cancel_futures=True)
        _raise_first_failure(futures)
        progress.update(bar, completed=total)


def _raise_first_failure(futures: Iterable[Any]) -> None:
    for future in futures:
        if future.done():
            future.result()


def _share(counter: Any) -> None:
    global _done
    _done = counter


def _work(part: "Part", folder: Path) -> None:
    from unsculpt.datasets.generator.parts import save

    def advance(jets: int) -> None:
        with _done.get_lock():
            _done.value += jets

    save(part.make(advance), part.path(folder))
