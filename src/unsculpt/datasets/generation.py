"""Generate a sample of jets: in parallel, in parts, resuming where it stopped."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from unsculpt.atomic import abandon_drafts
from unsculpt.progress import progress

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
    ``<name>.parts``: after an interruption, or to ask for more jets, run it again. A script has
    to call this under ``if __name__ == "__main__":``, since the workers import it.

    Args:
        path: The file to write, ``*.parquet``.
        qcd: Number of jets from quarks and gluons.
        w: Number of W jets.
        top: Number of top jets.
        seed: Any number from 0.
        workers: Processes to use; one a core if not given.
        detector: The calorimeter; ``True`` is the standard one, ``False`` none at all.
        part: Most jets in a part.

    Returns:
        The file that was written. It has the columns of :data:`unsculpt.datasets.COLUMNS`, a column
        ``process`` (0 QCD, 1 W, 2 top), and metadata that say how it was made.

    Example:
        >>> from unsculpt.datasets import generate
        >>> generate("jets.parquet", qcd=10_000, w=10_000)  # doctest: +SKIP
    """
    try:
        from unsculpt.datasets.generator.detector import Detector
        from unsculpt.datasets.generator.parts import Part, merge
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"generating jets needs {error.name}: pip install 'unsculpt[generate]'"
        ) from error

    path = Path(path)
    wanted = {name: jets for name, jets in (("qcd", qcd), ("w", w), ("top", top)) if jets > 0}
    if not wanted:
        raise ValueError("no jets were asked for: give qcd, w or top a number")
    calorimeter = (Detector() if detector else None) if isinstance(detector, bool) else detector
    parts = [
        Part(name, number, min(part, jets - number * part), seed, calorimeter)
        for name, jets in wanted.items()
        for number in range(-(-jets // part))
    ]
    parts.sort(key=lambda part: part.number)  # an early look then has every process
    folder = path.with_suffix(".parts")
    folder.mkdir(parents=True, exist_ok=True)
    _run(parts, folder, workers or os.cpu_count() or 1)
    merge(parts, folder, path)
    return path


def _run(parts: "list[Part]", folder: Path, workers: int) -> None:
    missing = [part for part in parts if not part.is_in(folder)]
    total = sum(part.jets for part in parts)
    resumed = total - sum(part.jets for part in missing)
    context = multiprocessing.get_context("spawn")  # a fork would share Pythia's and Rich's state
    counter = context.Value("q", 0)
    start, told = time.monotonic(), 0
    with (
        progress("Generating", total, "jets") as advance,
        ProcessPoolExecutor(workers, context, _start_worker, (counter,)) as pool,
    ):
        advance(resumed)
        pending = {pool.submit(_work, part, folder) for part in missing}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                now = counter.value
                advance(now - told, note=f"{now / (time.monotonic() - start):.0f} jets/s")
                told = now
        except BaseException:  # also an interruption: what has not started never will
            pool.shutdown(cancel_futures=True)
            raise


def _start_worker(counter: Any) -> None:
    global _done
    _done = counter
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent alone tells of an interruption
    Thread(target=_follow, daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # C++ banners would go through the progress bar


def _follow() -> None:
    """End with the parent: a worker that waits for its next part does not see it go."""
    multiprocessing.parent_process().join()  # type: ignore[union-attr]
    abandon_drafts()
    os._exit(1)


def _work(part: "Part", folder: Path) -> None:
    from unsculpt.datasets.generator.parts import write_whole

    def advance(jets: int) -> None:
        with _done.get_lock():
            _done.value += jets

    write_whole(part.make(advance), part.path(folder))
