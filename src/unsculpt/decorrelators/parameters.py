"""Parameters that several methods share."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np


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
        value = given.get(name, 1)
        if not (isinstance(value, int | np.integer) and value > 0):
            raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
    rate = given.get("learning_rate", 1)
    if rate is None or not rate > 0:
        raise ValueError(f"learning_rate is {rate!r}; expected a positive number")
    if not (isinstance(model.seed, int | np.integer) and model.seed >= 0):
        raise ValueError(f"seed is {model.seed!r}; expected a whole number from 0")
