from typing import NamedTuple

import numpy as np
import pytest

from unsculpt.classifiers import Classifier


class Events(NamedTuple):
    """Two features, of which the first knows the mass; signal is shifted in both."""

    X: np.ndarray
    y: np.ndarray
    mass: np.ndarray


def draw(n, seed):
    rng = np.random.default_rng(seed)
    mass, y = rng.normal(100, 10, n), rng.integers(2, size=n)
    knows = (mass - 100) / 10 + y + rng.normal(size=n) / 2
    return Events(np.column_stack([knows, y + rng.normal(size=n)]), y, mass)


@pytest.fixture(scope="session")
def events():
    return draw(2000, seed=1)


@pytest.fixture(scope="session")
def fresh():
    return draw(5000, seed=2)


@pytest.fixture(scope="session")
def quick():
    """Parameters of a rough fit, for what does not depend on its quality."""
    return {"hidden": (8, 8), "epochs": 3, "batch_size": 500}


@pytest.fixture(scope="session")
def tagger(events, quick):
    return Classifier(**quick).fit(events.X, events.y)


@pytest.fixture(scope="session")
def normalised(events, quick):
    return Classifier.disco(2, **quick).fit(events.X, events.y, protected=events.mass)
