"""A hundred million events in files, on local workers, beside reading and writing them alone.

    python benchmarks/cluster.py [--events 100000000] [--files 50] [--workers 2]

Each step has a cluster of its own. Core seconds and memory are those of the workers; the memory is
the largest that one of them ever held.
"""

import argparse
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from apply import make

import unsculpt as us
from unsculpt import files
from unsculpt.files import cluster

SOURCE = {"score": ["tagger"], "protected": ["mass"], "weight": "weight"}


def used():
    """Return the core seconds of a worker so far, and the GB that it held at most."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def copy(source, target):
    """Do what anybody would do with pyarrow, compressed as we do."""
    with (
        pq.ParquetFile(source) as file,
        pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer,
    ):
        for batch in file.iter_batches(2**18):
            writer.write_batch(batch)


def read(source):
    """Read what a fit needs."""
    with pq.ParquetFile(source) as file:
        return sum(
            len(batch) for batch in file.iter_batches(2**18, columns=["tagger", "mass", "weight"])
        )


def timed(name, events, workers, work):
    """Run it on a fresh cluster; print and return its numbers."""
    with cluster.connected(workers=workers) as client:
        client.wait_for_workers(workers)
        client.run(__import__, "unsculpt.files.apply")
        before = sum(cores for cores, _ in client.run(used).values())
        start = time.perf_counter()
        work(client)
        seconds = time.perf_counter() - start
        after = client.run(used).values()
    cores = sum(x for x, _ in after) - before
    print(
        f"{name}: {seconds:.0f} s, {events / seconds / 1e6:.2f} million events/s, {cores:.0f} "
        f"core s, {events / cores / 1e6:.2f} million events a core s, "
        f"{max(gb for _, gb in after):.2f} GB a worker",
        flush=True,
    )
    return np.array([seconds, cores])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for inside in ("in", "copied", "out"):
            (folder / inside).mkdir()
        sources = [folder / "in" / f"run{i:02}.parquet" for i in range(options.files)]
        make(sources[0], options.events // options.files)
        for path in sources[1:]:
            shutil.copy(sources[0], path)
        first = files.read_sample(files.scan(sources[0]), SOURCE)[np.arange(100_000)]
        model = us.SplineDecorrelator().fit(first.scores, first.protected)
        model.source_ = SOURCE
        model.save(folder / "w.unsculpt")
        stream = files.scan(*sources)
        size = sum(path.stat().st_size for path in sources) / 1e9
        print(f"{stream.rows:,} events in {len(sources)} files, {size:.1f} GB", flush=True)

        def copied(client):
            targets = [folder / "copied" / path.name for path in sources]
            client.gather(client.map(copy, sources, targets, pure=False))
            shutil.rmtree(folder / "copied")  # room for what comes

        def applied(client):
            cluster.apply(client, str(folder / "w.unsculpt"), stream, f"{folder}/out/")

        def fitted(client):
            cluster.fit_histograms(client, model, stream, SOURCE)

        def columns(client):
            client.gather(client.map(read, sources, pure=False))

        for work, alone in (
            ((applied, "apply"), (copied, "read and write alone")),
            ((fitted, "fit of a spline"), (columns, "read its columns alone")),
        ):
            theirs, ours = (
                timed(text, stream.rows, options.workers, function)
                for function, text in (alone, work)
            )
            clock, cores = ours / theirs
            print(f"{work[1]} / {alone[1]}: {clock:.2f} by the clock, {cores:.2f} in core seconds")


if __name__ == "__main__":
    main()
