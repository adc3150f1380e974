import subprocess
import sys

import numpy as np
import pytest

from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.study import ours


@pytest.mark.slow
def test_every_score_is_fitted_by_itself(monkeypatch):
    monkeypatch.setattr(ours, "cores", lambda: 2)
    fit, test = toys.tagger(3000, 0, seed=1), toys.tagger(500, 0, seed=1)
    tables = [np.stack([toy.score, -(toy.score**3)]) for toy in (fit, test)]
    flat = ours.decorrelate_all(tables[0], fit.protected, tables[1], test.protected)
    for row, scores, others in zip(flat, *tables, strict=True):
        alone = SplineDecorrelator().fit(scores, fit.protected)
        np.testing.assert_allclose(row, alone.transform(others, test.protected), rtol=1e-9)


@pytest.mark.slow
def test_its_processes_do_not_start_jax():
    code = (
        "import sys, numpy as np; from unsculpt.study.ours import _decorrelate; "
        "x = np.random.default_rng(0).normal(size=(2, 500)); _decorrelate(*x, *x); "
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
