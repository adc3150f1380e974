"""Twenty million events through `unsculpt apply`, beside reading and writing the file alone.

    python benchmarks/apply.py [--events 20000000] [--format parquet] [--method flow] [--repeats 3]

Each is a process of its own; they take turns, and the fastest turn of each counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import unsculpt as us
from unsculpt import files
from unsculpt.datasets import toys
from unsculpt.inputs import Columns

KINDS = {"flow": us.FlowDecorrelator, "spline": us.SplineDecorrelator}
# What anybody would write with the library of the format, compressed as we do.
COPY = {
    "parquet": """
import pyarrow.parquet as pq
file = pq.ParquetFile(source)
with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
    for batch in file.iter_batches(2**18):
        writer.write_batch(batch)
""",
    "root": """
import uproot
tree = uproot.open(source)["Events"]
with uproot.recreate(target, compression=uproot.ZSTD(1)) as file:
    new = None
    for arrays in tree.iterate(step_size=2**18, library="np"):
        new = new or file.mktree("Events", {name: a.dtype for name, a in arrays.items()})
        new.extend(arrays)
""",
}
OURS = """
from unsculpt import files
events = files.scan(source)
with files.create(target, events.schema()) as put:
    for chunk in events.chunks():
        put(chunk)
"""
START = "import os, sys; source, target = sys.argv[1:]"
END = "file = os.open(target, os.O_RDONLY); os.fsync(file)"
APPLY = "from unsculpt.cli import app; app()"


def make(path, events):
    """Write background of the tagger toy, with what a table of events has besides."""
    rng = np.random.default_rng(0)
    first = 0
    schema = pa.schema(
        {
            "event": pa.int64(),
            "run": pa.int32(),
            "mass": pa.float32(),
            "pt": pa.float32(),
            "tagger": pa.float32(),
            "weight": pa.float32(),
        }
    )
    with files.create(path, schema) as put:
        while first < events:
            n = min(2**18, events - first)
            toy = toys.tagger(n, 0, seed=first + 1)
            columns = {
                "event": np.arange(first, first + n),
                "run": np.full(n, first // 2**20),
                "mass": toy.protected,
                "pt": rng.uniform(300, 400, n),
                "tagger": toy.score,
                "weight": rng.normal(1, 0.1, n),
            }
            put(pa.table(columns).cast(schema, safe=False))
            first += n


def timed(code, *arguments):
    """Run Python code in a process; return its seconds by the clock and on cores, and its GB."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"failed: {arguments}")
    seconds = time.perf_counter() - start
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--format", choices=COPY, default="parquet")
    parser.add_argument("--method", choices=KINDS, default="flow")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, target, model = (
            str(Path(folder) / name)
            for name in (f"events.{options.format}", f"new.{options.format}", "model.unsculpt")
        )
        make(source, options.events)
        toy = toys.tagger(20_000, 0, seed=0)
        fitted = KINDS[options.method]().fit(toy.score, Columns(mass=toy.protected))
        fitted.source_ = {"score": ["tagger"], "protected": ["mass"]}
        fitted.save(model)
        print(f"{options.events:,} events, {os.path.getsize(source) / 1e6:.0f} MB", flush=True)
        turns = []
        for _ in range(options.repeats):
            turn = {
                "read and write": timed(
                    "\n".join([START, COPY[options.format], END]), source, target
                ),
                "the same by unsculpt.files": timed("\n".join([START, OURS]), source, target),
                "apply": timed(APPLY, "apply", model, source, "-o", target),
            }
            for name, numbers in turn.items():
                print("{}: {:.1f} s, {:.1f} core s, {:.2f} GB".format(name, *numbers), flush=True)
            turns.append(list(turn.values()))
        (theirs, ours, apply), memory = np.min(turns, axis=0), np.max(turns, axis=0)[2, 2]
        for name, copy in (("read and write", theirs), ("the same by unsculpt.files", ours)):
            clock, cores, _ = apply / copy
            print(f"apply / {name}: {clock:.2f} by the clock, {cores:.2f} in core seconds")
        print(f"peak memory of apply {memory:.2f} GB")


if __name__ == "__main__":
    main()
