"""The same work on many machines, with Dask: a task for every file.

Nothing here depends on which worker does what: results come back in the order of the files, and a
task whose worker died runs again elsewhere.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import reduce
from multiprocessing import resource_tracker
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unsculpt.atomic import children_write_into
from unsculpt.files.apply import Applied, targets
from unsculpt.files.apply import apply as apply_here
from unsculpt.files.location import Location
from unsculpt.files.remote import is_url
from unsculpt.files.sample import Missing, Sample, Selected, gathered, joined, select
from unsculpt.files.stream import Stream, scan

if TYPE_CHECKING:
    from distributed import Client

    from unsculpt.decorrelators import SplineDecorrelator

R = TypeVar("R")
RETRIES = 3  # of a task that failed, say on a file server that was busy
PATIENCE = "10s"  # with a scheduler that does not answer


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Give a client of a running cluster, or of so many processes started here.

    Args:
        scheduler: the address of a cluster that is running.
        workers: how many processes to start here instead.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ModuleNotFoundError(
            "a cluster needs Dask; install it with: pip install 'unsculpt[dask]'"
        ) from None
    if scheduler:
        try:
            client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except OSError as error:
            raise ConnectionError(f"no scheduler answers at {scheduler}: {error}") from None
        with client:
            yield client
        return
    # Ctrl-C in a terminal reaches all processes; this one ends the workers, which would complain.
    resource_tracker.ensure_running()  # where it is started, signals come through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
    except RuntimeError as error:
        raise OSError(f"the workers did not start: {error}; try again, or with fewer") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def read_sample(
    client: Client,
    events: Stream,
    source: dict[str, Any],
    *,
    nan: Missing = "raise",
    advance: Callable[[int], object] = lambda rows: None,
) -> Sample:
    """Select and compute the columns of a fit on the workers, and gather them here.

    Args:
        client: the Dask client of the cluster.
        events: the files.
        source: as in `files.read_sample`.
        nan: as in `files.read_sample`.
        advance: called with the rows of each file when it is read.
    """
    parts = _on_files(client, _selected, events, advance, _anywhere(source))
    return joined(parts, source, nan)


def fit_histograms(
    client: Client,
    first: SplineDecorrelator,
    events: Stream,
    source: dict[str, Any],
    *,
    nan: Missing = "raise",
    advance: Callable[[int], object] = lambda rows: None,
) -> SplineDecorrelator:
    """Return `first` with the background of all these files added, counted on the workers.

    Args:
        client: the Dask client of the cluster.
        first: a fitted spline that sets the binning.
        events: the files to count.
        source: as in `files.read_sample`.
        nan: as in `files.read_sample`.
        advance: called with the rows of each file when it is counted.
    """
    parts = _on_files(client, _counted, events, advance, _anywhere(source), nan, first.empty())
    return reduce(add, parts, first)


def apply(
    client: Client,
    model: str,
    events: Stream,
    output: str,
    *,
    advance: Callable[[int], object] = lambda rows: None,
    **options: Any,
) -> Applied:
    """Write each file with its decorrelated scores into a folder, one task a file.

    Args:
        client: the Dask client of the cluster.
        model: the model file.
        events: the files to read.
        output: the folder to write to.
        advance: called with the rows of each file when it is written.
        **options: as in `files.apply`.
    """
    folder = Path(output).resolve()
    if not output.endswith("/") and not folder.is_dir():
        raise ValueError(
            f"{output} is one file, but on a cluster each file is written by itself; "
            f"write to a folder: {output}/"
        )
    if options.get("variations"):
        _loaded(model).variations(options["variations"])  # refuses where there are none
    folder.mkdir(exist_ok=True)
    targets(events, folder)  # refuses names that clash
    children_write_into(folder)
    parts = _on_files(
        client, _applied, events, advance, str(Path(model).resolve()), f"{folder}/", options
    )
    done = Applied(columns=parts[0].columns)
    for part in parts:
        done.rows += part.rows
        done.scores += part.scores
        done.missing += part.missing
        done.unselected += part.unselected
        done.outside += part.outside
        done.files += part.files
    return done


def _on_files(
    client: Client,
    task: Callable[..., R],
    events: Stream,
    advance: Callable[[int], object],
    *arguments: Any,
) -> list[R]:
    """Run a task for every file; return the results in the order of the files."""
    from distributed import KilledWorker, as_completed

    files = [Location(place.path.absolute(), place.inside) for place in events.locations]
    futures = [
        client.submit(task, str(file), *arguments, retries=RETRIES, pure=False) for file in files
    ]
    sizes = {f.key: source.rows or 0 for f, source in zip(futures, events.sources, strict=True)}
    try:
        for future in as_completed(futures, loop=client.loop):
            if future.status == "error":
                break
            advance(sizes[future.key])
        results: list[R] = client.gather(futures)
        return results
    except KilledWorker as error:
        raise OSError(f"workers died again and again, of memory perhaps: {error}") from None
    except CancelledError as error:
        raise ConnectionError(f"the scheduler went away: {error}") from None
    finally:
        client.cancel(futures)


def _anywhere(source: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a sample, with files that a worker finds wherever it runs."""
    files = {role: source[role] for role in ("background_files", "signal_files") if role in source}
    return source | {
        role: [n if is_url(n) else os.path.abspath(n) for n in names]
        for role, names in files.items()
    }


def _selected(file: str, source: dict[str, Any]) -> Selected:
    return select(scan(file), source)


def _counted(
    file: str, source: dict[str, Any], nan: Missing, counter: SplineDecorrelator
) -> SplineDecorrelator:
    counter = counter.empty()  # the worker keeps the given one for its next file
    part = select(scan(file), source)
    if part.signal.all():
        return counter
    sample = gathered([part], source, nan)
    background = sample[sample.label == 0]
    if not len(background.label):  # all of it was NaN
        return counter
    return counter.partial_fit(
        background.scores, background.protected, sample_weight=background.weight
    )


def _applied(file: str, model: str, folder: str, options: dict[str, Any]) -> Applied:
    return apply_here(_loaded(model), scan(file), folder, **options)


def _loaded(model: str) -> Any:
    from unsculpt import load

    return load(model)
