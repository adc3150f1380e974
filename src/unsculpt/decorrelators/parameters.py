"""Parameters that several methods share."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_training(model: Any) -> None:
    """Refuse what no training can use among the parameters that every trained method has."""
    for name in ("members", "epochs", "batch_size"):
        value = getattr(model, name, None)
        if value is not None and not (isinstance(value, int | np.integer) and value > 0):
            raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
    if not (model.learning_rate is None or model.learning_rate > 0):
        raise ValueError(f"learning_rate is {model.learning_rate!r}; expected a positive number")
    if not (isinstance(model.seed, int | np.integer) and model.seed >= 0):
        raise ValueError(f"seed is {model.seed!r}; expected a whole number from 0")
