"""How fast and how close are the exports? Flows and splines of one attribute and of two.

    python benchmarks/export.py [--only spline]

Each target runs three times and the fastest counts; ratios are to `transform` in the same run, in
core seconds. The C++ header is compiled with -O2 and called for each event, on one core.
"""

import argparse
import ctypes
import re
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import correctionlib
import numpy as np
import onnxruntime
import torch

from unsculpt import FlowDecorrelator, SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.export import to_correctionlib, to_cpp, to_onnx, to_torch

CHUNK = 2**16
COMPILER = ["g++", "-std=c++17", "-O2", "-fPIC", "-shared"]
CASES = {
    "spline": (SplineDecorrelator(), toys.tagger, 1_000_000),
    "spline of two": (SplineDecorrelator(), toys.two_attributes, 1_000_000),
    "flow": (FlowDecorrelator(epochs=5), toys.tagger, 1_000_000),
    "flow of two": (FlowDecorrelator(epochs=5), toys.two_attributes, 200_000),
}


def main() -> None:
    warnings.filterwarnings("ignore", ".* is outside the fitted")
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=CASES)
    only = parser.parse_args().only
    folder = Path(tempfile.mkdtemp())
    for name, (method, toy, events) in CASES.items():
        if only not in (None, name):
            continue
        train, test = toy(20_000, 0, seed=1), toy(events, 0, seed=2)
        flow = method.fit(train.score, train.protected)
        to_onnx(flow, folder / "model.onnx")
        session = onnxruntime.InferenceSession(
            folder / "model.onnx", providers=["CPUExecutionProvider"]
        )
        names = [x.name for x in session.get_inputs()]
        columns = [test.score, *test.protected.reshape(events, -1).T.copy()]
        module = to_torch(flow)

        def by_onnx(*x: np.ndarray, names=names, session=session) -> np.ndarray:
            return session.run(None, dict(zip(names, x, strict=True)))[0]

        def by_torch(*x: np.ndarray, module=module) -> np.ndarray:
            with torch.no_grad():
                return module(*map(torch.from_numpy, x)).numpy()

        targets = {"C++ header": in_cpp(flow, folder), "onnxruntime": by_onnx, "PyTorch": by_torch}
        if name != "flow of two":  # which is no table
            to_correctionlib(flow, folder / "model.json")
            to_correctionlib(flow, folder / "model.3e-3.json.gz", tolerance=3e-3)
            file = str(folder / "model.json")
            targets["correctionlib"] = correctionlib.CorrectionSet.from_file(file)["flat"].evaluate

        expected, base = timed(lambda t=test, f=flow: f.transform(t.score, t.protected))
        print(f"{name}: transform {events / base / 1e6:.2f} million events a core s", flush=True)
        for target, function in targets.items():
            flat, seconds = timed(lambda f=function, c=columns: in_chunks(f, c))
            print(
                f"  {target}: {events / seconds / 1e6:.2f} million events a core s, "
                f"{base / seconds:.2f} of transform, differs by at most "
                f"{np.abs(flat - expected).max():.1e}",
                flush=True,
            )
        for file in sorted(folder.glob("model.*")):
            print(f"  {file.name}: {file.stat().st_size / 1e6:.2f} MB")
            file.unlink()


def in_cpp(model, folder):
    """Return the header as a function of columns."""
    path = folder / "model.hpp"
    to_cpp(model, path)
    names = re.search(r"flat\((.*)\);", path.read_text())[1].split(", ")
    given, each = (
        ", ".join(form.format(x) for x in names) for form in ("const double* {}", "{}[i]")
    )
    several = re.search(r"struct Flat {\s*double (\w+);", path.read_text())
    member = f".{several[1]}" if several else ""  # the first of several scores
    library = str(folder / f"{id(model)}.so")
    program = f"""#include "{path}"
extern "C" void run(long n, double* out, {given}) {{
  for (long i = 0; i < n; ++i) out[i] = model::flat({each}){member};
}}"""
    command = [*COMPILER, "-x", "c++", "-", "-o", library]
    subprocess.run(command, input=program, text=True, check=True)
    run = ctypes.CDLL(library).run

    def flat(*columns: np.ndarray) -> np.ndarray:
        out = np.empty(len(columns[0]))
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (out, *columns)]
        run(ctypes.c_long(len(out)), *pointers)
        return out

    return flat


def in_chunks(function, columns) -> np.ndarray:
    starts = range(0, len(columns[0]), CHUNK)
    return np.concatenate([function(*(c[i : i + CHUNK] for c in columns)) for i in starts])


def timed(function) -> tuple[np.ndarray, float]:
    times = []
    for _ in range(3):
        start = time.process_time()
        out = function()
        times.append(time.process_time() - start)
    return out, min(times)


if __name__ == "__main__":
    main()
