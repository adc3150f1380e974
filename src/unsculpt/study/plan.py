"""What is going to be done, for how long and in how much memory."""

from __future__ import annotations

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from unsculpt.study.presets import Preset
from unsculpt.study.sample import Splits
from unsculpt.study.tasks import Task

# Seconds for a step, and for an event in one model, such that the time of a quick run on two cores
# and of the paper's on one H200 come out right, and those of their longer tasks within a third.
COST = {
    "cpu": {
        "vDNN": (3e-4, 1.4e-6),
        "DNN (cf-inputs)": (3e-4, 1.4e-6),
        "DisCo": (1.2e-2, 1.2e-6),
        "MoDe": (1e-3, 1e-6),
        "adversary": (1e-3, 6e-7),
        "published DisCo": (1.2e-2, 1.2e-6),
        "feature flow": (2e-3, 3e-5),
        "quantile": (3e-4, 1e-6),
        "paper flow": (5e-4, 4e-6),
        "our flow": (5e-4, 3.5e-7),
    },
    "gpu": {
        "vDNN": (1e-4, 3e-8),
        "DNN (cf-inputs)": (1e-4, 3e-8),
        "DisCo": (5e-4, 1e-8),
        "MoDe": (2e-3, 1e-8),
        "adversary": (5e-4, 1.2e-8),
        "published DisCo": (5e-4, 1.2e-8),
        "feature flow": (1.2e-3, 1e-7),
        "quantile": (1.5e-4, 1e-8),
        "paper flow": (1e-4, 2.6e-8),
        "our flow": (6e-4, 8e-9),
    },
}
BATCH = {
    "vDNN": 256,
    "DNN (cf-inputs)": 256,
    "feature flow": 256,
    "MoDe": 2**14,
    "quantile": 256,
    "paper flow": 256,
    "our flow": 1100,
}
RUNS = ("paper flow", "our flow", "cuts")
OUR_EPOCHS, OUR_MEMBERS = 20, 8
SCORING = {"cpu": 0.3, "gpu": 0.1}  # seconds a model, to score and judge it
COMPILING = 8.0


def show_plan(
    plan: list[Task], todo: list[Task], preset: Preset, jets: Splits, console: Console
) -> None:
    """Print the tasks with estimates; those that are done say so."""
    kind = "cpu" if jax.default_backend() == "cpu" else "gpu"
    table = Table(
        "task",
        "models",
        "epochs",
        "time",
        title=f"Preset {preset.name} on {jax.devices()[0].device_kind}",
        title_justify="left",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for task in plan:
        time = f"{seconds(task, jets, kind):.0f} s" if task in todo else "done"
        models = len(task.models) + (task.options[0] if task.step in RUNS else 0)
        epochs = OUR_EPOCHS if task.step == "our flow" else task.epochs
        table.add_row(task.title, str(models), str(epochs), time)
    console.print(table)
    total = sum(seconds(task, jets, kind) for task in todo)
    console.print(
        f"{len(jets.train):,} jets to train, {len(jets.test):,} to test; "
        f"about {total / 60:.0f} minutes and {gigabytes(plan, jets):.1f} GB of memory.\n"
        "Finished tasks are kept: interrupted, the same command goes on."
    )


def seconds(task: Task, jets: Splits, kind: str) -> float:
    """Estimate the time of a task."""
    background = int(np.sum(jets.train.label == 0))
    models = len(task.models)
    if task.step == "classifier":
        training = _training(task.family, models, len(jets.train), task.epochs, kind)
        for epochs in task.options:
            training += _training("feature flow", 1, background, epochs, kind)
    elif task.step == "cuts":
        training = _training("quantile", task.options[0], background, task.epochs, kind)
    elif task.step == "sizes":
        training = sum(_flows(models, size, task.epochs, kind) for size in task.options)
    elif task.step == "our flow":
        flows = (models + task.options[0]) * OUR_MEMBERS
        training = _training(task.step, flows, background, OUR_EPOCHS, kind)
    else:
        training = _training(task.step, models + task.options[0], background, task.epochs, kind)
    programs = 2 * len(task.options) if task.step == "sizes" else 1
    return training + models * SCORING[kind] + programs * COMPILING


def _flows(models: int, events: int, epochs: int, kind: str) -> float:
    return _training("paper flow", models, events, epochs, kind) + _training(
        "our flow", models * OUR_MEMBERS, events, OUR_EPOCHS, kind
    )


def _training(what: str, models: int, events: int, epochs: int, kind: str) -> float:
    step, event = COST[kind][what]
    return epochs * (events / BATCH.get(what, 2048) * step + events * models * event)


def gigabytes(plan: list[Task], jets: Splits) -> float:
    """Estimate the memory: scores of the largest family, jets, and the engine's own."""
    events = np.sum(jets.train.label == 0) + len(jets.test)
    models = max(len(task.models) for task in plan)
    features = (len(jets.train) + len(jets.test)) * jets.train.features.shape[1]
    return float(1.5 + (models * events * 28 + features * 24) / 1e9)
