"""Which method when: every decorrelator of a score on the same scores, with the time it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import unsculpt as us
from unsculpt.decorrelators import Decorrelator
from unsculpt.study.evaluation import evaluate
from unsculpt.study.folder import Arrays, Part
from unsculpt.study.sample import Splits
from unsculpt.study.tasks import Task

QUANTILES = tuple(np.linspace(0.01, 0.99, 99))

METHODS: dict[str, Callable[[int], Decorrelator]] = {
    "flow, ours": lambda epochs: us.FlowDecorrelator(),
    "flow, the paper's": lambda epochs: us.FlowDecorrelator.paper(epochs=epochs),
    "splines": lambda epochs: us.SplineDecorrelator(),
    "quantile regression, 99 quantiles": lambda epochs: us.QuantileDecorrelator(
        QUANTILES, continuous=True
    ),
    # Flat at one working point only: about where half of the signal of a vDNN passes.
    "nearest neighbours, at 3%": lambda epochs: us.KNNDecorrelator(0.03),
    "designed tagger (DDT)": lambda epochs: us.DDTDecorrelator(),
}


def methods(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Fit every method on every score, one after the other; its first fit also compiles."""
    rows = []
    background = jets.train.label == 0
    mass = jets.train.mass[background]
    for name, new in METHODS.items():
        for which, (family, _, seed) in enumerate(task.models):
            start = time.perf_counter()
            fitted = new(task.epochs).fit(scores["fit"][which], mass)
            seconds = time.perf_counter() - start
            flat = fitted.transform(scores["test"][which], jets.test.mass)
            rows.append(
                {"family": family, "decorrelation": name, "seed": seed, "seconds": seconds}
                | evaluate(flat, jets.test.label, jets.test.mass)
            )
    return Part(rows, {})
