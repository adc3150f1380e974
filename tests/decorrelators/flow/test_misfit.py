"""A fit that does not follow its events says so."""

import warnings

import numpy as np
import pytest

from unsculpt import FlowDecorrelator, QuantileDecorrelator
from unsculpt.datasets import toys

EVENTS, MEMBERS = 10_000, 2  # as the flows that other tests share: one program


@pytest.mark.parametrize(
    "method", [FlowDecorrelator, pytest.param(QuantileDecorrelator, marks=pytest.mark.slow)]
)
def test_too_short_a_training_is_noticed(method):
    toy = toys.tagger(EVENTS, 0, seed=1)
    message = r"does not follow the events of the score: chi2 \d+ for \d+, p = .* worst at mass"
    with pytest.warns(UserWarning, match=message):
        method(members=MEMBERS, epochs=1).fit(toy.score, {"mass": toy.protected})


@pytest.mark.parametrize("toy", [toys.tagger, pytest.param(toys.atoms, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_good_fit_is_silent(toy):
    toy = toy(EVENTS, 0, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FlowDecorrelator(members=MEMBERS).fit(toy.score, toy.protected)


@pytest.mark.slow
def test_a_score_of_two_values_is_no_misfit():
    random = np.random.default_rng(2)
    mass = random.uniform(50, 300, EVENTS)
    score = (random.random(EVENTS) < 0.2 + mass / 500).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FlowDecorrelator(members=MEMBERS).fit(score, mass)


@pytest.mark.slow
def test_the_score_that_is_not_followed_is_named():
    random = np.random.default_rng(0)
    mass = random.random(EVENTS)
    scores = np.column_stack([random.normal(size=EVENTS), random.normal(3 * mass)])
    with pytest.warns(UserWarning, match="the events of score 1") as seen:
        FlowDecorrelator(members=MEMBERS, epochs=1, learning_rate=1e-9).fit(scores, mass)
    assert len(seen) == 1
