"""What the methods that train networks share."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np

from unsculpt.inputs import whole_number

# Of the paper, with Adam annealed to zero by a cosine.
PAPER = {"epochs": 100, "batch_size": 256, "learning_rate": 1e-3}


def check_training(model: Any) -> None:
    """Refuse what no training can use among the parameters that every trained method has.

    None is for those that are None unless set: the method then chooses.
    """
    given = {
        name: getattr(model, name)
        for name, parameter in signature(type(model)).parameters.items()
        if not (parameter.default is None and getattr(model, name) is None)
    }
    for name in ("members", "epochs", "batch_size"):
        whole_number(given.get(name, 1), name)
    whole_number(given.get("replicas", 0), "replicas", 0)
    rate = given.get("learning_rate", 1)
    if rate is None or not rate > 0:
        raise ValueError(f"learning_rate is {rate!r}; expected a positive number")
    whole_number(model.seed, "seed", 0)
    if given.get("recipe", "paper") not in ("smooth", "paper"):
        raise ValueError(f"recipe is {given['recipe']!r}; expected 'smooth' or 'paper'")


def training_of(model: Any, events: int, epochs: int = 20) -> dict[str, Any]:
    """Return the settings of a training: those of the model, chosen by the events where None.

    Many events need fewer passes; a batch is a hundredth of them, from 64 to 4096.
    """
    return {
        "epochs": model.epochs or math.ceil(epochs * min(1, (200_000 / events) ** 0.5)),
        "batch_size": model.batch_size or int(np.clip(events // 100, 64, 4096)),
        "learning_rate": model.learning_rate,
        "seed": model.seed,
    }


def summary_of(train_loss: Any, weight: Any) -> dict[str, Any]:
    """Return what a model file says about a training: events, weights, epochs, final loss."""
    return {
        "events": len(weight),
        "sum_of_weights": float(weight.sum()),
        "epochs": len(train_loss),
        "final_loss": float(train_loss[-1].mean()),
    }
