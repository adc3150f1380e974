"""The same bytes with any number of BLAS threads, for the map and for what it gives."""

import os
import subprocess
import sys

import pytest

CODE = """
import hashlib, sys
import numpy as np
import unsculpt as us
from unsculpt.datasets import toys
from threadpoolctl import threadpool_info

toy = toys.tagger(20_000, 0, seed=1)
two = np.column_stack([toy.protected, np.random.default_rng(0).exponential(100, 20_000)])
digest = hashlib.sha256()
for protected in (toy.protected, two):
    model = us.SplineDecorrelator().fit(toy.score, protected)
    model.save(sys.argv[1])
    digest.update(open(sys.argv[1], "rb").read())
    digest.update(np.ascontiguousarray(model.transform(toy.score, protected)))
threads = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
print(max(threads), digest.hexdigest())
"""


@pytest.mark.slow
def test_blas_threads_make_no_difference(tmp_path):
    answers = []
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        done = subprocess.run(
            [sys.executable, "-c", CODE, tmp_path / "w.unsculpt"],
            env=os.environ | dict.fromkeys(names, threads),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        answers.append(done.stdout.split())
    (one, digest), (two, other) = answers
    if os.cpu_count() > 1:
        assert (one, two) == ("1", "2")
    assert digest == other
