"""Which method when: every decorrelator of a score on the same scores, with the time it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import unsculpt as us
from unsculpt.decorrelators import Decorrelator
from unsculpt.experiments.evaluation import evaluate
from unsculpt.experiments.sample import Splits
from unsculpt.experiments.store import Arrays, Part
from unsculpt.experiments.tasks import Task

METHODS: dict[str, Callable[[int], Decorrelator]] = {
    "flow": lambda epochs: us.FlowDecorrelator(),
    "paper's flow": lambda epochs: us.FlowDecorrelator.paper(epochs=epochs),
}


def methods(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Fit every method on every score, one after the other; its first fit also compiles."""
    rows = []
    background = jets.train.label == 0
    mass = jets.train.mass[background]
    for name, new in METHODS.items():
        for which, (_, seed) in enumerate(task.models):
            start = time.perf_counter()
            fitted = new(task.epochs).fit(scores["fit"][which], mass)
            seconds = time.perf_counter() - start
            flat = fitted.transform(scores["test"][which], jets.test.mass)
            rows.append(
                {"decorrelation": name, "seed": seed, "seconds": seconds}
                | evaluate(flat, jets.test.label, jets.test.mass)
            )
    return Part(rows, {})
