"""The study as a list of tasks, each a pure function of its own description."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from unsculpt.study.presets import Preset

Step = Literal["classifier", "paper flow", "ours", "cuts", "sizes", "methods", "search"]

Model = tuple[str, float, int]
STRENGTH = 200.0  # of the DisCo classifier whose cuts the paper shows


@dataclass(frozen=True)
class Task:
    """Models that are trained together.

    Attributes:
        step: what is done.
        models: family, strength and seed of each classifier it is about.
        epochs: of the training.
        data: which jets, by their fingerprint.
        options: what else the step wants to know, such as numbers of events.
        needs: the tasks whose arrays it works on.
    """

    step: Step
    models: tuple[Model, ...]
    epochs: int
    data: str
    options: tuple[int, ...] = ()
    needs: tuple[Task, ...] = ()

    @property
    def family(self) -> str:
        """Of the classifiers, if they are of one."""
        names = {family for family, _, _ in self.models}
        return names.pop() if len(names) == 1 else "all families"

    @property
    def kept(self) -> list[Model]:
        """The classifiers whose scores of the test jets it keeps, in order.

        After a decorrelation those of the first seed are enough for the figures.
        """
        return [model for model in self.models if self.step == "classifier" or model[2] == 0]

    @property
    def name(self) -> str:
        """Different for different descriptions: results are found by it."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        words = re.sub(r"[^\w]+", "-", f"{self.family} {self.step}")
        return f"{words}-{digest[:12]}"

    @property
    def title(self) -> str:
        """For people."""
        return self.family if self.step == "classifier" else f"{self.step}, {self.family}"


def single(disco: Task) -> Model:
    """Return the DisCo classifier that is looked at more closely: the paper's, or the strongest."""
    models = [model for model in disco.models if model[2] == 0]
    return next((model for model in models if model[1] == STRENGTH), models[-1])


def trainings(preset: Preset, data: str) -> list[Task]:
    """Return what is to be trained, in order."""
    families: list[tuple[str, Sequence[float], int, tuple[int, ...]]] = [
        ("vDNN", (0.0,), preset.epochs, ()),
        ("DNN (cf-inputs)", (0.0,), preset.epochs, (preset.feature_epochs,)),
        ("DisCo", preset.alphas, preset.epochs, ()),
        ("MoDe", preset.alphas, preset.epochs, ()),
        ("adversary", preset.few_alphas, preset.epochs, ()),
        ("published DisCo", preset.few_alphas, preset.published_epochs, ()),
    ]
    classifiers = {
        family: Task(
            "classifier",
            tuple((family, float(a), seed) for a in alphas for seed in range(preset.seeds)),
            epochs,
            data,
            options,
        )
        for family, alphas, epochs, options in families
    }
    vdnn, disco = classifiers["vDNN"], classifiers["DisCo"]
    flows = _flows(list(classifiers.values()), preset, data)
    # Of a family each: it can begin while the next one is trained.
    ours = {
        family: Task("ours", task.models, 0, data, (0,), (task,))
        for family, task in classifiers.items()
    }
    return [
        *classifiers.values(),
        *flows,
        *ours.values(),
        Task("sizes", vdnn.models, preset.epochs, data, preset.sizes, (vdnn,)),
        # The first flows have the trainings on one classifier.
        Task(
            "cuts",
            (single(disco),),
            preset.epochs,
            data,
            (preset.runs,),
            (disco, flows[0], ours["DisCo"]),
        ),
    ]


def _flows(classifiers: list[Task], preset: Preset, data: str) -> list[Task]:
    """Put the paper's flow on every classifier, as many in one program as the preset allows.

    A GPU has little to do for one flow: a few hundred take hardly longer. The first program also
    trains `runs` flows on one and the same classifier.
    """
    models = [model for task in classifiers for model in task.models]
    chunks = [models[i : i + preset.together] for i in range(0, len(models), preset.together)]
    return [
        Task(
            "paper flow",
            tuple(chunk),
            preset.epochs,
            data,
            (0 if i else preset.runs,),
            tuple(classifiers),
        )
        for i, chunk in enumerate(chunks)
    ]


def studies(preset: Preset, data: str) -> list[Task]:
    """Return what is done with the scores afterwards: it needs no GPU but other libraries."""
    made = trainings(preset, data)
    classifiers = {task.family: task for task in made if task.step == "classifier"}
    vdnn, disco = classifiers["vDNN"], classifiers["DisCo"]
    ours = [task for task in made if task.step == "ours" and task.needs[0] in (vdnn, disco)]
    return [
        Task("methods", vdnn.models[:3], preset.epochs, data, needs=(vdnn,)),
        Task(
            "search", (vdnn.models[0], single(disco)), 0, data, (preset.toys,), (vdnn, disco, *ours)
        ),
    ]
