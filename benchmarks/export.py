"""How fast and how close are the exports? A million tagger events, and flows of two attributes.

    python benchmarks/export.py

Each target runs three times and the fastest counts; ratios are to `transform` in the same run.
"""

import tempfile
import time
import warnings
from pathlib import Path

import correctionlib
import numpy as np
import onnxruntime
import torch

from unsculpt import FlowDecorrelator
from unsculpt.datasets import toys
from unsculpt.export import to_correctionlib, to_onnx, to_torch

CHUNK = 2**16


def main() -> None:
    warnings.filterwarnings("ignore", ".* is outside the fitted")
    folder = Path(tempfile.mkdtemp())
    for toy, events in ((toys.tagger, 1_000_000), (toys.two_attributes, 200_000)):
        train, test = toy(20_000, 0, seed=1), toy(events, 0, seed=2)
        flow = FlowDecorrelator(epochs=5).fit(train.score, train.protected)
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

        targets = {"onnxruntime": by_onnx, "PyTorch": by_torch}
        if test.protected.ndim == 1:
            to_correctionlib(flow, folder / "model.json")
            file = str(folder / "model.json")
            targets["correctionlib"] = correctionlib.CorrectionSet.from_file(file)["flat"].evaluate

        expected, base = timed(lambda t=test, f=flow: f.transform(t.score, t.protected))
        print(f"{toy.__name__}: transform {events / base / 1e6:.2f} million events/s")
        for name, function in targets.items():
            flat, seconds = timed(lambda f=function, c=columns: in_chunks(f, c))
            print(
                f"  {name}: {events / seconds / 1e6:.2f} million events/s, {base / seconds:.2f} of "
                f"transform, differs by at most {np.abs(flat - expected).max():.1e}"
            )
    for file in folder.iterdir():
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")


def in_chunks(function, columns) -> np.ndarray:
    starts = range(0, len(columns[0]), CHUNK)
    return np.concatenate([function(*(c[i : i + CHUNK] for c in columns)) for i in starts])


def timed(function) -> tuple[np.ndarray, float]:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        out = function()
        times.append(time.perf_counter() - start)
    return out, min(times)


if __name__ == "__main__":
    main()
