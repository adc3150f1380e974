from typing import NamedTuple

import numpy as np
import pytest


class Sample(NamedTuple):
    scores: np.ndarray
    labels: np.ndarray
    mass: np.ndarray
    weight: np.ndarray


def make_sample(n: int, seed: int = 0) -> Sample:
    """A peak on a falling spectrum, a score that follows the mass, one weight in ten negative."""
    random = np.random.default_rng(seed)
    labels = random.integers(2, size=n)
    mass = np.where(labels == 1, random.normal(80, 8, n), 50 + random.exponential(60, n))
    scores = random.normal(labels - mass / 100)
    weight = random.uniform(0.5, 2, n) * np.where(random.random(n) < 0.1, -1, 1)
    return Sample(scores, labels, mass, weight)


@pytest.fixture(scope="session")
def sample() -> Sample:
    return make_sample(4000)
