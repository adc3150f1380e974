"""The jets of the study."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from unsculpt.datasets import Jets, load_jets, load_w_high_level


@dataclass(frozen=True)
class Splits:
    """Jets to train classifiers and flows on, and jets to judge them on.

    As in the paper the flows are fitted on the background that the classifiers were trained on.
    """

    train: Jets
    test: Jets
    fingerprint: str


@cache
def splits(data: Path | None, jets: int | None) -> Splits:
    """Load the shipped jets, or the original ones; keep the first `jets` of each class."""
    train, test = (
        load_jets(split) if data is None else load_w_high_level(data, split)
        for split in ("train", "test")
    )
    if jets is not None:
        train, test = (_first_of_each(part, jets) for part in (train, test))
    digest = hashlib.sha256()
    for part in (train, test):
        digest.update(np.ascontiguousarray(part.mass).tobytes())
    return Splits(train, test, digest.hexdigest()[:12])


@contextmanager
def few_outside() -> Iterator[None]:
    """Leave a warning out: a few test jets are lighter or heavier than all jets of the fit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "protected is outside")
        yield


def _first_of_each(jets: Jets, number: int) -> Jets:
    rows = np.concatenate([np.flatnonzero(jets.label == one)[:number] for one in (0, 1)])
    columns = {name: getattr(jets, name)[rows] for name in ("features", "mass", "label", "weight")}
    return replace(jets, **columns)
