"""What each kind of task does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unsculpt import FlowDecorrelator
from unsculpt.experiments.cuts import cuts
from unsculpt.experiments.evaluation import evaluate_all
from unsculpt.experiments.families import train_family
from unsculpt.experiments.methods import methods
from unsculpt.experiments.sample import Splits
from unsculpt.experiments.search import search
from unsculpt.experiments.store import Arrays, Part, Row
from unsculpt.experiments.tasks import Task

Floats = NDArray[np.floating]


def perform(task: Task, jets: Splits, needed: list[Arrays]) -> Part:
    """Do a task; `needed` are the arrays of the tasks that it needs."""
    with warnings.catch_warnings():
        # A few test jets are lighter or heavier than all jets of the fit.
        warnings.filterwarnings("ignore", "protected is outside")
        part = STEPS[task.step](task, jets, *needed)
    common = {"data": task.data, "task": task.name, "step": task.step, "family": task.family}
    return Part([common | {"epochs": task.epochs} | row for row in part.rows], part.arrays)


def classifier(task: Task, jets: Splits) -> Part:
    """Train the classifiers and judge them as they are."""
    start = time.perf_counter()
    fit, test = train_family(task.family, list(task.models), task.epochs, jets)
    return Part(
        _judge(task, jets, test, "none", time.perf_counter() - start),
        {"fit": fit, "test": test},
    )


def flow(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Put a flow on top of every classifier; the scores of the first seed are kept for figures."""
    start = time.perf_counter()
    decorrelator = new_flow(task).fit(scores["fit"].T, jets.train.mass[jets.train.label == 0])
    seconds = time.perf_counter() - start
    flat = decorrelator.transform(scores["test"].T, jets.test.mass).T
    first = np.array([seed == 0 for _, seed in task.models])
    return Part(_judge(task, jets, flat, task.step, seconds), {"test": flat[first].astype("f4")})


def sizes(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Fit both flows on fewer events, to see what more of them bring."""
    rows = []
    mass = jets.train.mass[jets.train.label == 0]
    order = np.random.default_rng(0).permutation(len(mass))
    for events in task.options:
        chosen = order[:events]
        for recipe in ("paper flow", "our flow"):
            start = time.perf_counter()
            decorrelator = new_flow(task, recipe).fit(scores["fit"][:, chosen].T, mass[chosen])
            seconds = time.perf_counter() - start
            flat = decorrelator.transform(scores["test"].T, jets.test.mass).T
            judged = _judge(task, jets, flat, recipe, seconds)
            rows += [row | {"events": events} for row in judged]
    return Part(rows, {})


def new_flow(task: Task, recipe: str | None = None) -> FlowDecorrelator:
    """Return the paper's flow or ours."""
    if (recipe or task.step) == "paper flow":
        return FlowDecorrelator.paper(epochs=task.epochs)
    return FlowDecorrelator()


def _judge(
    task: Task, jets: Splits, scores: Floats, decorrelation: str, seconds: float
) -> list[Row]:
    numbers = evaluate_all(scores, jets.test.label, jets.test.mass)
    return [
        {
            "alpha": alpha,
            "seed": seed,
            "decorrelation": decorrelation,
            "events": int(np.sum(jets.train.label == 0)),
            "seconds": seconds / len(task.models),
            **row,
        }
        for (alpha, seed), row in zip(task.models, numbers, strict=True)
    ]


def cuts_on_one(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Cut one classifier harder and harder, with flows and quantile regressors of many seeds."""
    which = task.needs[0].models.index(task.models[0])
    return cuts(
        scores["fit"][which],
        scores["test"][which][jets.test.label == 0],
        jets.train.mass[jets.train.label == 0],
        jets.test.mass[jets.test.label == 0],
        runs=task.options[0],
        epochs=task.epochs,
    )


STEPS: dict[str, Callable[..., Part]] = {
    "classifier": classifier,
    "paper flow": flow,
    "our flow": flow,
    "cuts": cuts_on_one,
    "sizes": sizes,
    "methods": methods,
    "search": search,
}
