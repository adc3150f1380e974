"""The guide's method is registered, held to the contract, and used from the command line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unsculpt.datasets import toys

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the guide's module and some events lie."""
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL
    )
    folder = tmp_path_factory.mktemp("guide")
    (folder / "linear.py").write_text(code)
    toy = toys.smooth(1500, 500, seed=1)
    table = pa.table({"tagger": toy.score, "mass": toy.protected, "label": toy.label})
    pq.write_table(table, folder / "events.parquet")
    return folder


def run(folder, *command, code=None):
    """Run Python where it finds the guide's module."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    path = os.pathsep.join(filter(None, [str(folder), environment.get("PYTHONPATH")]))
    arguments = ["-c", code] if code else []
    done = subprocess.run(
        [sys.executable, *arguments, *map(str, command)],
        env=environment | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unsculpt(folder, *command):
    return run(folder, *command, code="import linear; from unsculpt.cli import app; app()")


def test_it_keeps_the_contract(folder):
    contract = "tests/decorrelators/test_contract.py"
    options = ("-p", "linear", "-k", "LinearDecorrelator", "-n0", "-p", "no:cacheprovider")
    out = run(folder, "-m", "pytest", *options, contract)
    assert int(re.search(r"(\d+) passed", out)[1]) > 80
    assert "failed" not in out


def test_from_the_command_line_to_a_report(folder):
    assert "linear" in unsculpt(folder, "fit", "--help")
    model, events = folder / "w.unsculpt", folder / "events.parquet"
    columns = ("--score", "tagger", "--protect", "mass", "--background", "label == 0")
    answer = json.loads(
        unsculpt(folder, "fit", events, *columns, "--method", "linear", "-o", model, "--json")
    )
    assert answer["method"] == "LinearDecorrelator"
    before, after = (row["inverse_jsd"] for row in answer["judged"])
    assert after > before
    flat = folder / "flat.parquet"
    unsculpt(folder, "apply", model, events, "-o", flat)
    assert np.isfinite(pq.read_table(flat)["tagger_flat"].to_numpy()).all()
    report = folder / "report.html"
    unsculpt(folder, "report", model, events, "-o", report)
    assert "LinearDecorrelator" in report.read_text()
    pytest.importorskip("onnx")
    unsculpt(folder, "export", model, "-o", folder / "w.onnx")
    assert (folder / "w.onnx").stat().st_size
