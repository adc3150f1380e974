"""Our splines on many scores, each in a process of its own."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from unsculpt import SplineDecorrelator
from unsculpt.devices import cores
from unsculpt.study.evaluation import Values
from unsculpt.study.sample import few_outside


def decorrelate_all(fit: Values, mass: Values, test: Values, test_mass: Values) -> Values:
    """Fit every row of a table of scores, (k, n), and return the test scores made flat.

    In processes: threads would wait for each other, as a fit is mostly Python's own work on small
    matrices. They have one thread of algebra each, and this module starts no JAX: it would claim
    the GPU once more.
    """
    flat = Parallel(cores())(
        delayed(_decorrelate)(score, mass, other, test_mass)
        for score, other in zip(fit, test, strict=True)
    )
    return np.stack(list(flat))


def _decorrelate(score: Values, mass: Values, test: Values, test_mass: Values) -> Values:
    with few_outside():
        return SplineDecorrelator().fit(score, mass).transform(test, test_mass)
