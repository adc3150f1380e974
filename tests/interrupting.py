"""Does some work over and over and is sent a signal each time, at another moment.

Run by test_interrupted.py in a process of its own, as it forks: what takes long to import is
imported once. Prints how the attempts ended and what went wrong, as JSON.
"""

import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa

from unsculpt.__main__ import main, stop_when_asked
from unsculpt.files import create, scan

SIGNALS = signal.SIGINT, signal.SIGTERM
PATIENCE = 2  # seconds that an interrupted command may take
ROWS, CHUNK = 40_000, 8_000
USED = [
    "unsculpt.cli.judging",
    "unsculpt.decorrelators.flow.ensemble",
    "unsculpt.export.onnx",
    "unsculpt.files.parquet",
    "unsculpt.report.write",
]


def in_a_child(work):
    """Start work in a process; return its number and a pipe that tells once signals are ours."""
    told, tell = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    if child := os.fork():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(tell)
        os.read(told, 1)
        return child, told
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(tell, 2)
    stop_when_asked()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.write(tell, b".")
    code = 0
    try:
        work()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.exit(code)


def attempt(work, wait=None, number=None):
    """Do the work, interrupted after so many seconds; return exit code, words and patience."""
    child, told = in_a_child(work)
    if wait is not None:
        time.sleep(wait)
        os.kill(child, number)
    start = time.monotonic()
    _, status = os.waitpid(child, 0)
    took, said = time.monotonic() - start, b""
    while part := os.read(told, 10_000):  # to the end of what the child has started too
        said += part
    os.close(told)
    return os.waitstatus_to_exitcode(status), said.decode(), took


def attempts(work, folder, moments, whole):
    """Interrupt work at so many moments; print what went wrong.

    A file may be what it was before, or new and whole, as `whole` says of a path.
    """
    before = files(folder)
    usual = min(attempt(work)[2] for _ in range(2))
    makes = new(folder, before)
    wrong, ended = [], {}
    for i in range(moments):
        tidy(folder, before)
        number = SIGNALS[i % 2]
        wait = 0.8 * usual * (i + random.random()) / moments  # the rest is the end of Python
        code, said, took = attempt(work, wait, number)
        ended[code] = ended.get(code, 0) + 1
        faults = [f"left {path.name}" for path in folder.rglob(".*")]
        faults += [f"{path.name} is damaged" for path in new(folder, before) if not whole(path)]
        if code == 0 and makes and not new(folder, before):
            faults.append("reported as done, but nothing is new")
        if code not in (0, 128 + number):
            faults.append(f"exit code {code}")
        if code and took > PATIENCE:
            faults.append(f"took {took:.1f} s")
        if (code and not said.endswith("interrupted\n")) or "Traceback" in said:
            faults.append(f"said {said!r}")
        wrong += [f"{number.name} after {1e3 * wait:.1f} ms: {fault}" for fault in faults]
    print(json.dumps({"wrong": wrong, "ended": ended, "usual": usual}))


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def new(folder, before):
    return [path for path, content in files(folder).items() if before.get(path) != content]


def tidy(folder, before):
    for path in new(folder, before):
        path.unlink()
    for path, content in before.items():
        path.write_bytes(content)


def table(first, kind):
    events = {
        "event": np.arange(first, first + ROWS),
        "mass": np.random.default_rng(first).normal(size=ROWS),
    }
    return pa.table(events).replace_schema_metadata({b"unsculpt.kind": kind})


def write(path, events):
    with create(path, events.schema) as put:
        for start in range(0, ROWS, CHUNK):
            put(events[start : start + CHUNK])


def writing(folder, moments, name):
    """Replace a file by one of other events."""
    kind, path = b"ROOT::RNTuple" if name.startswith("ntuple") else b"TTree", folder / name
    write(path, table(0, kind))
    events = table(10**6, kind)
    plain = events.replace_schema_metadata(None)

    def whole(path):
        try:
            return pa.concat_tables(scan(path).chunks(plain.column_names)).equals(plain)
        except ValueError:
            return False

    def work():
        write(path, events)
        os._exit(0)  # to take down an interpreter takes longer than to write a file

    attempts(work, folder, moments, whole)


def running(folder, moments, *arguments):
    """Run a command."""
    for name in USED:
        importlib.import_module(name)
    os.chdir(folder)
    sys.argv = ["unsculpt", *arguments]
    before = files(folder)
    attempt(main)
    done = files(folder)
    tidy(folder, before)

    def whole(path):  # reports and their figures tell the time
        content = path.read_bytes()
        return content == done.get(path) or content.endswith((b"</html>", b"%%EOF\n"))

    attempts(main, folder, moments, whole)


if __name__ == "__main__":
    what, folder, moments, *arguments = sys.argv[1:]
    {"write": writing, "run": running}[what](Path(folder), int(moments), *arguments)
