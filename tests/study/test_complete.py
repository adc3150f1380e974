"""The study with the networks and flows of the paper, in little."""

from dataclasses import replace

import numpy as np
import pytest

from unsculpt.study import run, study
from unsculpt.study.figures import draw
from unsculpt.study.folder import Folder
from unsculpt.study.methods import METHODS
from unsculpt.study.page import write_page


@pytest.mark.slow
def test_from_the_jets_to_the_page(tiny, tmp_path):
    run(replace(tiny, alphas=(200.0,), sizes=(2000,)), tmp_path)
    study(tmp_path)
    finished = Folder.open(tmp_path)
    assert all(finished.has(task) for task in finished.tasks if task.step != "search")
    rows = finished.results.where(step="ours")
    assert np.isfinite(rows.column("inverse_jsd50")).all()
    assert set(finished.results.where(step="methods").values("decorrelation")) == set(METHODS)
    assert {path.suffix for path in draw(tmp_path)} == {".pdf", ".png"}
    assert "nan" not in write_page(tmp_path).read_text()
