"""The guide's method is registered, held to the contract, and used from the command line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the guide's module and some events lie."""
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL
    )
    folder = tmp_path_factory.mktemp("guide")
    (folder / "linear.py").write_text(code)
    rng = np.random.default_rng(1)
    mass, label = rng.uniform(50, 150, 2000), np.arange(2000) % 4 // 3
    score = rng.normal(mass / 50 + label)
    table = pa.table({"tagger": score, "mass": mass, "label": label})
    pq.write_table(table, folder / "events.parquet")
    return folder


def run(folder, *arguments):
    """Run Python where it finds the guide's module."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    path = os.pathsep.join(filter(None, [str(folder), environment.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_keeps_the_contract(folder):
    contract = "tests/decorrelators/contract"
    options = ("-p", "linear", "-k", "LinearDecorrelator", "-n0", "-p", "no:cacheprovider")
    out = run(folder, "-m", "pytest", *options, contract)
    assert int(re.search(r"(\d+) passed", out)[1]) > 80


COMMANDS = """
import linear, sys
from unsculpt.cli import app
from unsculpt.report import write

write.pictures = lambda *events: []  # tests/report looks at them

folder = sys.argv[1] + "/"
for command in (
    ["fit", "events.parquet", "--score", "tagger", "--protect", "mass", "--background",
     "label == 0", "--signal", "label == 1", "--method", "linear", "-o", "w.unsculpt"],
    ["apply", "w.unsculpt", "events.parquet", "-o", "flat.parquet"],
    ["report", "w.unsculpt", "events.parquet", "-o", "report.html"],
    ["export", "w.unsculpt", "-o", "w.onnx"],
):
    app([folder + word if "." in word else word for word in command], standalone_mode=False)
"""


def test_from_the_command_line_to_a_report(folder):
    pytest.importorskip("onnx")
    out = run(folder, "-c", COMMANDS, str(folder))
    assert "Fitted a LinearDecorrelator of tagger given mass" in out
    flat = pq.read_table(folder / "flat.parquet").to_pandas()
    correlation = flat[flat["label"] == 0].corr()["mass"]
    assert correlation["tagger"] > 0.4
    assert abs(correlation["tagger_flat"]) < 0.1
    assert "LinearDecorrelator" in (folder / "report.html").read_text()
    session = pytest.importorskip("onnxruntime").InferenceSession(folder / "w.onnx")
    inputs = {name: flat[name].to_numpy() for name in ("tagger", "mass")}
    np.testing.assert_allclose(session.run(None, inputs)[0], flat["tagger_flat"], atol=1e-12)
