"""What each kind of task does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from unsculpt import FlowDecorrelator
from unsculpt.study.bump_search import bump_search
from unsculpt.study.cuts import cuts
from unsculpt.study.evaluation import Values, evaluate_all
from unsculpt.study.families import train_family
from unsculpt.study.folder import Arrays, Part, Row
from unsculpt.study.methods import methods
from unsculpt.study.ours import decorrelate_all
from unsculpt.study.results import RECIPES
from unsculpt.study.sample import Splits
from unsculpt.study.tasks import Task, single


def perform(task: Task, jets: Splits, needed: list[Arrays]) -> Part:
    """Do a task; `needed` are the arrays of the tasks that it needs."""
    part = STEPS[task.step](task, jets, *needed)
    common = {"data": task.data, "task": task.name, "step": task.step, "epochs": task.epochs}
    return Part([common | row for row in part.rows], part.arrays)


def classifier(task: Task, jets: Splits) -> Part:
    """Train the classifiers of a family and judge them as they are."""
    start = time.perf_counter()
    models = [(alpha, seed) for _, alpha, seed in task.models]
    fit, test = train_family(task.family, models, task.epochs, jets, *task.options)
    rows = _judge(task, jets, test, "none", time.perf_counter() - start)
    return Part(rows, {"fit": fit, "test": test})


def decorrelation(task: Task, jets: Splits, *needed: Arrays) -> Part:
    """Put a flow, or our splines, on top of every classifier, and several flows on top of one."""
    fit, test = (scores_of(task, needed, which) for which in ("fit", "test"))
    (runs,) = task.options
    if runs:
        disco = next(other for other in task.needs if other.family == "DisCo")
        one = replace(task, models=(single(disco),) * runs)
        fit = np.concatenate([fit, scores_of(one, needed, "fit")])
        test = np.concatenate([test, scores_of(one, needed, "test")])
    start = time.perf_counter()
    mass = jets.train.mass[jets.train.label == 0]
    flat = decorrelate(task.step, task.epochs, fit, mass, test, jets.test.mass)
    seconds = time.perf_counter() - start
    models = len(task.models)
    first = [i for i, model in enumerate(task.models) if model in task.kept]
    arrays = {"test": flat[first], "runs": flat[models:][:, jets.test.label == 0]}
    return Part(
        _judge(task, jets, flat[:models], task.step, seconds),
        {name: scores.astype("f4") for name, scores in arrays.items()},
    )


def sizes(task: Task, jets: Splits, scores: Arrays) -> Part:
    """Fit the paper's flow and our splines on fewer events, to see what more of them bring."""
    rows = []
    mass = jets.train.mass[jets.train.label == 0]
    order = np.random.default_rng(0).permutation(len(mass))
    for events in task.options:
        chosen = order[:events]
        for recipe in RECIPES:
            start = time.perf_counter()
            fit = scores["fit"][:, chosen]
            flat = decorrelate(
                recipe, task.epochs, fit, mass[chosen], scores["test"], jets.test.mass
            )
            seconds = time.perf_counter() - start
            judged = _judge(task, jets, flat, recipe, seconds)
            rows += [row | {"events": events} for row in judged]
    return Part(rows, {})


def decorrelate(
    recipe: str, epochs: int, fit: Values, mass: Values, test: Values, test_mass: Values
) -> Values:
    """Return test scores, (models, n), made flat by the paper's flow or by our splines.

    Args:
        recipe: one of `RECIPES`.
        epochs: of the flow.
        fit: scores of the background to fit on, (models, events).
        mass: of that background.
        test: scores to make flat.
        test_mass: of the jets that have them.
    """
    if recipe == "ours":
        return decorrelate_all(fit, mass, test, test_mass)
    # All in one program: a GPU has little to do for one flow.
    return FlowDecorrelator.paper(epochs=epochs).fit(fit.T, mass).transform(test.T, test_mass).T


def scores_of(task: Task, needed: Sequence[Arrays], which: str) -> Values:
    """Return the scores of the task's classifiers from what it needs, (models, n)."""
    row = {
        model: arrays[which][i]
        for other, arrays in zip(task.needs, needed, strict=True)
        for i, model in enumerate(other.kept)
    }
    return np.stack([row[model] for model in task.models])


def _judge(
    task: Task, jets: Splits, scores: Values, decorrelation: str, seconds: float
) -> list[Row]:
    numbers = evaluate_all(scores, jets.test.label, jets.test.mass)
    return [
        {
            "family": family,
            "alpha": alpha,
            "seed": seed,
            "decorrelation": decorrelation,
            "events": int(np.sum(jets.train.label == 0)),
            "seconds": seconds / len(task.models),
            **row,
        }
        for (family, alpha, seed), row in zip(task.models, numbers, strict=True)
    ]


STEPS: dict[str, Callable[..., Part]] = {
    "classifier": classifier,
    "paper flow": decorrelation,
    "ours": decorrelation,
    "cuts": cuts,
    "sizes": sizes,
    "methods": methods,
    "search": bump_search,
}
