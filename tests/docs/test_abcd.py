"""The ABCD tutorial, typed in as it stands, finds what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "abcd.md"


@pytest.mark.filterwarnings("ignore:jsonschema.RefResolver:DeprecationWarning")
def test_the_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyhf")
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names = {}
    blocks = re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for kind, block in blocks:
        if kind == "python":
            exec(block, names)
            continue
        for line in re.findall(r"^\$ (unsculpt (?:.*\\\n)*.*)$", block, flags=re.MULTILINE):
            subprocess.run(line, shell=True, check=True, env=os.environ | {"PATH": path})
    raw, closed, found = names["raw"], names["closed"], names["found"]
    assert raw.ratio > 10
    assert abs(closed.pull) < 2
    assert 0.02 < closed.map_error < 0.045
    truth = np.sum(
        (names["data"]["label"] == 0)
        & (names["data"]["first"] >= names["cuts"][0])
        & (names["data"]["second_flat"] >= names["cuts"][1])
    )
    # The signal in B and C raises the prediction by as much as `contamination` says.
    corrected = found.predicted / (1 + names["bias"])
    assert abs(truth - corrected) < 2 * found.predicted_error
    assert names["bias"] == pytest.approx(0.044, abs=0.01)
    assert names["mu"] == pytest.approx(1, abs=0.8)
    assert 1 < names["honest"] < 3
    assert names["exact"] > 1.5 * names["honest"]
    assert names["chi2"]["check-flat.root"] > 500
    assert names["chi2"]["check-both.root"] < 30
    assert "ABCD with first" in Path("abcd.html").read_text()
    assert "standard deviations; with an exact map" in capsys.readouterr().out
