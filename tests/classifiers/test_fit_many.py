from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

from unsculpt.classifiers import Classifier, fit_many, training


class Traces:
    """Counts how often JAX looks into a penalty: once for every compilation."""

    count: ClassVar[int] = 0


def counted(scores, protected, *, sample_weight):
    Traces.count += 1
    return ((sample_weight * scores) ** 2).mean()


def assert_alike(one, other, events):
    np.testing.assert_allclose(
        one.predict_proba(events.X), other.predict_proba(events.X), atol=2e-4
    )


@pytest.fixture(scope="module")
def several(quick, events):
    """Fitted together."""
    new = [Classifier.disco(alpha, seed=seed, **quick) for alpha in (0, 2, 10) for seed in (0, 1)]
    fitted = fit_many(new, events.X, events.y, protected=events.mass)
    assert fitted == new
    return fitted


def test_each_is_what_it_would_be_alone(several, events):
    for classifier in several:
        alone = clone(classifier).fit(events.X, events.y, protected=events.mass)
        assert_alike(classifier, alone, events)


def test_seeds_and_strengths_make_them_differ(several, events):
    scores = [classifier.predict_proba(events.X)[:, 1] for classifier in several]
    for i, one in enumerate(scores):
        for other in scores[:i]:
            assert np.abs(one - other).max() > 1e-5


@pytest.mark.slow
def test_different_recipes_go_together(quick, events):
    mixed = [
        Classifier(**quick),
        Classifier.mode(5, **quick),
        Classifier.adversarial(2, **quick),
        Classifier(**quick, seed=1),
    ]
    fit_many(mixed, events.X, events.y, protected=events.mass)
    for classifier in mixed:
        alone = clone(classifier).fit(events.X, events.y, protected=events.mass)
        assert_alike(classifier, alone, events)


@pytest.mark.slow
def test_those_that_do_not_fit_in_memory_take_turns(several, events, monkeypatch):
    sizes = []
    together = training._train_together

    def watched(recipe, objective, alphas, seeds, sample):
        sizes.append(len(seeds))
        return together(recipe, objective, alphas, seeds, sample)

    monkeypatch.setattr(training, "_train_together", watched)
    copies = [clone(classifier) for classifier in several]
    fit_many(copies, events.X, events.y, protected=events.mass)
    assert sizes == [2, 4]
    sizes.clear()
    copies = [clone(classifier) for classifier in several]
    monkeypatch.setattr(training, "MEMORY", 10_000_000)
    fit_many(copies, events.X, events.y, protected=events.mass)
    assert sizes == [2, 2, 2]
    for one, two in zip(several, copies, strict=True):
        assert_alike(one, two, events)


def test_a_hundred_and_thirty_of_the_papers_fit_at_once():
    pairs = training.PAIR_BYTES * training._room_for_background(2048, 110 / 360) ** 2
    assert 130 * (pairs + training.EVENT_BYTES * 2048) < training.MEMORY


def test_a_second_fit_compiles_nothing(events, quick):
    def run(seed, alpha):
        new = [Classifier(penalty=counted, alpha=alpha, seed=seed + i, **quick) for i in (0, 1)]
        fit_many(new, events.X, events.y, protected=events.mass)
        return Traces.count

    first = run(seed=0, alpha=1.0)
    assert first > 0
    assert run(seed=5, alpha=2.0) == first


def test_room_for_background_is_hardly_ever_too_small():
    draws = np.random.default_rng(0).binomial(2048, 0.3, 1_000_000)
    room = training._room_for_background(2048, 0.3)
    assert draws.max() <= room < 1.25 * draws.mean()
    assert training._room_for_background(100, 0.99) == 100


def test_none_at_all(events):
    assert fit_many([], events.X, events.y) == []
