"""What classifiers must share to be trained in one program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unsculpt import penalties
from unsculpt.inputs import whole_number

ADVERSARY = "adversary"
ACTIVATIONS = ("relu", "swish")


@dataclass(frozen=True)
class Recipe:
    """The parameters of a classifier, checked, without strength and seed."""

    hidden: tuple[int, ...]
    activation: str
    batch_normalisation: bool
    heads: int
    penalty: Callable[..., Any] | None
    options: tuple[tuple[str, Any], ...]
    adversary: bool
    epochs: int
    batch_size: int
    learning_rate: float

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Check the parameters of a classifier; without strength there is no penalty."""
        for name in ("epochs", "batch_size"):
            whole_number(parameters[name], name)
        for nodes in parameters["hidden"]:
            whole_number(nodes, "hidden")
        whole_number(parameters["seed"], "seed", 0)
        if parameters["heads"] not in (1, 2):
            raise ValueError(f"heads is {parameters['heads']!r}; expected 1 or 2")
        if parameters["activation"] not in ACTIVATIONS:
            raise ValueError(
                f"activation is {parameters['activation']!r}; expected {_or(ACTIVATIONS)}"
            )
        if not parameters["learning_rate"] > 0:
            raise ValueError(
                f"learning_rate is {parameters['learning_rate']!r}; expected a positive number"
            )
        alpha, penalty = parameters["alpha"], parameters["penalty"]
        if not 0 <= alpha < np.inf:
            raise ValueError(f"alpha is {alpha!r}; expected a number of at least 0")
        if alpha and penalty is None:
            raise ValueError(f"alpha is {alpha!r} but there is no penalty; name one or set alpha=0")
        known = [*penalties.__all__, ADVERSARY]
        if isinstance(penalty, str) and penalty not in known:
            raise ValueError(f"penalty is {penalty!r}; expected {_or(known)}, a function or None")
        opposed = bool(alpha) and penalty == ADVERSARY
        if opposed and parameters["heads"] == 2:
            raise ValueError("an adversary has one head to read; use a penalty between two heads")
        penalised = bool(alpha) and not opposed
        if isinstance(penalty, str) and not opposed:
            penalty = getattr(penalties, penalty, None)
        return cls(
            tuple(int(nodes) for nodes in parameters["hidden"]),
            parameters["activation"],
            bool(parameters["batch_normalisation"]),
            int(parameters["heads"]),
            penalty if penalised else None,
            tuple(sorted((parameters["penalty_options"] or {}).items())) if penalised else (),
            opposed,
            int(parameters["epochs"]),
            int(parameters["batch_size"]),
            float(parameters["learning_rate"]),
        )

    @property
    def decorrelates(self) -> bool:
        """Whether there is something that the score must not know."""
        return self.adversary or self.penalty is not None

    @property
    def protects(self) -> bool:
        """Whether the protected attributes are that; of two heads, it is the other head."""
        return self.decorrelates and self.heads == 1


def _or(names: Any) -> str:
    *first, last = (repr(name) for name in names)
    return f"{', '.join(first)} or {last}"
