"""The study as a list of tasks, each a pure function of its own description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from unsculpt.experiments.presets import Preset

Step = Literal["classifier", "paper flow", "our flow", "cuts", "sizes", "methods", "search"]

SINGLE = 200.0  # the strength of DisCo whose cuts the paper shows


@dataclass(frozen=True)
class Task:
    """Models that are trained together.

    Attributes:
        step: what is done.
        family: of the classifiers.
        models: strength and seed of each.
        epochs: of the training.
        data: which jets, by their fingerprint.
        options: what else the step wants to know: runs, or numbers of events.
        needs: the tasks whose arrays it works on.
    """

    step: Step
    family: str
    models: tuple[tuple[float, int], ...]
    epochs: int
    data: str
    options: tuple[int, ...] = ()
    needs: tuple[Task, ...] = ()

    @property
    def name(self) -> str:
        """Different for different descriptions: results are found by it."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return f"{self.family}-{self.step}-{digest[:12]}".replace(" ", "-")

    @property
    def title(self) -> str:
        """For people."""
        return self.family if self.step == "classifier" else f"{self.family}, {self.step}"


def tasks(preset: Preset, data: str) -> list[Task]:
    """Return what is to be trained, in order."""
    plan: list[Task] = []
    families: list[tuple[str, Sequence[float], int]] = [
        ("vDNN", (0.0,), preset.epochs),
        ("DisCo", preset.alphas, preset.epochs),
        ("MoDe", preset.alphas, preset.epochs),
        ("adversary", preset.few_alphas, preset.epochs),
        ("published DisCo", preset.few_alphas, preset.published_epochs),
    ]
    for family, alphas, epochs in families:
        models = tuple((float(a), seed) for a in alphas for seed in range(preset.seeds))
        scores = Task("classifier", family, models, epochs, data)
        plan.append(scores)
        plan += [
            Task(step, family, models, preset.epochs, data, needs=(scores,))
            for step in ("paper flow", "our flow")
        ]
        if family == "vDNN":
            plan.append(Task("sizes", family, models, preset.epochs, data, preset.sizes, (scores,)))
        if family == "DisCo":
            single = ((SINGLE, 0),)
            plan.append(
                Task("cuts", family, single, preset.epochs, data, (preset.runs,), (scores,))
            )
    return plan


def studies(preset: Preset, data: str) -> list[Task]:
    """Return what is done with the scores afterwards: it needs no GPU but other libraries."""
    made = {(task.family, task.step): task for task in tasks(preset, data)}
    vdnn, disco = made["vDNN", "classifier"], made["DisCo", "classifier"]
    few = vdnn.models[:3]
    flows = (made["vDNN", "our flow"], made["DisCo", "our flow"])
    return [
        Task("methods", "vDNN", few, preset.epochs, data, needs=(vdnn,)),
        Task("search", "all", ((SINGLE, 0),), 0, data, (preset.toys,), (vdnn, disco, *flows)),
    ]
