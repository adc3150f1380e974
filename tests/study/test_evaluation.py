import subprocess
import sys

import numpy as np
import pytest

from unsculpt.datasets import toys
from unsculpt.study.evaluation import evaluate_all, jackknife


@pytest.mark.slow
def test_the_error_from_the_jets_is_how_other_jets_would_scatter():
    samples = [toys.tagger(20_000, 2_000, seed=seed) for seed in range(30)]
    rows = [evaluate_all([s.score], s.label, s.protected)[0] for s in samples]
    scatter = np.std([row["inverse_jsd50"] for row in rows])
    errors = jackknife(np.array([row["inverse_jsd50_without"] for row in rows]))
    assert 0.6 < np.sqrt((errors**2).mean()) / scatter < 1.6


def test_the_processes_that_judge_models_do_not_start_jax():
    code = "import sys, unsculpt.study.evaluation; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
