"""What a sample of jets looks like, whoever made it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VARIABLES = ("pt", "tau21", "c2", "d2", "fw", "pf", "ap", "zcutdef", "ktdr", "sqrtd12")
"""The ten inputs of a classifier."""

COLUMNS = ("mass", *VARIABLES)
"""The same with the mass in front, as in the original file."""

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Jets:
    """Jets by column; one row of every array belongs to one jet.

    Args:
        features: The ten inputs of a classifier, shape ``(n, 10)``; ``pt`` and ``sqrtd12`` in GeV.
        names: What the columns of ``features`` are called.
        mass: Jet mass in GeV, shape ``(n,)``.
        label: 0 for QCD, 1 for W, 2 for top, shape ``(n,)``.
        weight: Event weights, shape ``(n,)``.
    """

    features: NDArray[np.float32]
    names: tuple[str, ...]
    mass: NDArray[np.float32]
    label: NDArray[np.int8]
    weight: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.mass)


def check_split(split: str | None) -> None:
    """Complain about a split that does not exist; ``None`` stands for all of them."""
    if split is not None and split not in SPLITS:
        raise ValueError(f"split is {split!r}, expected {', '.join(SPLITS)}, or None for all")
