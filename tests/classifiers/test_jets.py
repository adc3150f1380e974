"""The trade of rejection against sculpting, on the shipped jets."""

import numpy as np
import pytest

from unsculpt import datasets, metrics
from unsculpt.classifiers import Classifier, fit_many

pytestmark = pytest.mark.slow
SEEDS = range(3)


@pytest.fixture(scope="module")
def jets():
    """A few of them, as (X, y, mass), to train and to test."""

    def some(split, background, signal):
        all_of_them = datasets.load_jets(split)
        rows = np.concatenate(
            [
                np.flatnonzero(all_of_them.label == label)[:count]
                for label, count in ((0, background), (1, signal))
            ]
        )
        return all_of_them.features[rows], all_of_them.label[rows], all_of_them.mass[rows]

    return some("train", 8_000, 8_000), some("test", 60_000, 15_000)


def figures(classifier, jets):
    X, y, mass = jets
    score = classifier.decision_function(X)
    sculpting = metrics.jsd(score, y, mass, bins=np.linspace(50, 300, 51))
    return metrics.rejection(score, y), 1 / sculpting


@pytest.mark.parametrize(
    ("preset", "strengths"),
    [("disco", (0, 1, 10)), ("mode", (0, 5, 100)), ("adversarial", (0, 2, 50))],
)
def test_more_strength_means_less_sculpting_and_less_rejection(preset, strengths, jets):
    (X, y, mass), test = jets
    new = getattr(Classifier, preset)
    grid = [
        new(strength, seed=seed, epochs=12, batch_size=512, learning_rate=1e-3)
        for strength in strengths
        for seed in SEEDS
    ]
    fit_many(grid, X, y, protected=mass)
    found = np.reshape([figures(c, test) for c in grid], (len(strengths), len(SEEDS), 2))
    rejection, inverse_jsd = found.mean(axis=1).T
    assert np.all(np.diff(rejection) < 0)
    assert np.all(np.diff(inverse_jsd) > 0)
