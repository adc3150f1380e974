"""NumPy and JAX evaluate the same flows."""

import numpy as np
import pytest

from unsculpt.decorrelators.flow.evaluation import inverse_of_mean, layers_of, mean_cdf


def halved(cdf, level, low, high):
    """Return where an increasing function has a level, slowly, but nothing can go wrong."""
    low, high = np.full_like(level, low), np.full_like(level, high)
    for _ in range(50):
        middle = (low + high) / 2
        below = cdf(middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


@pytest.fixture(scope="module", params=["ours", pytest.param("paper", marks=pytest.mark.slow)])
def flows(request):
    from unsculpt.decorrelators.flow.ensemble import _new, evaluate, restore
    from unsculpt.fitting.parameters import parameters_of

    # Far from the identity: an untrained flow would hide a wrong step.
    random = np.random.default_rng(1)
    untrained = parameters_of(_new(request.param, 3, 4, 0))
    parameters = [x + 0.1 * random.standard_normal(x.shape) for x in untrained]
    parameters = [x.astype(np.float32) for x in parameters]
    level, features = random.random(2_000), random.uniform(-1, 1, (2_000, 3))
    members, _ = evaluate(restore(request.param, 3, parameters), level, features)
    return request.param, layers_of(parameters), level, features, members.mean(axis=0)


def test_the_mean_cdf_is_that_of_jax(flows):
    recipe, layers, level, features, expected = flows
    found = mean_cdf(recipe, layers, level, features)
    assert np.abs(found - level).max() > 0.05
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_inverse_leads_back(flows):
    recipe, layers, level, features, _ = flows
    place = inverse_of_mean(recipe, layers, level, features)
    np.testing.assert_allclose(mean_cdf(recipe, layers, place, features), level, atol=1e-12)


def test_the_inverse_is_what_halving_finds(flows):
    recipe, layers, level, features, _ = flows
    some = slice(512)
    level = np.concatenate([10.0 ** -np.arange(1, 7), 1 - 10.0 ** -np.arange(1, 7), level])[some]
    expected = halved(lambda x: mean_cdf(recipe, layers, x, features[some]), level, 0, 1)
    found = inverse_of_mean(recipe, layers, level, features[some])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_levels_that_no_score_has_give_the_ends(flows):
    recipe, layers, _, features, _ = flows
    ends = inverse_of_mean(recipe, layers, np.array([0.0, 1e-300, 1.0]), features[:3])
    np.testing.assert_allclose(ends, [0, 0, 1], atol=1e-15)


def test_one_event_gets_what_it_gets_among_many(flows):
    recipe, layers, level, features, _ = flows
    together = mean_cdf(recipe, layers, level, features)
    for event in (0, 1, 17, 255, 256, 511, 1_000, 1_999):
        alone = mean_cdf(recipe, layers, level[[event]], features[[event]])
        assert alone[0] == together[event]
    together = inverse_of_mean(recipe, layers, level, features)
    for event in (0, 1, 1_999):
        alone = inverse_of_mean(recipe, layers, level[[event]], features[[event]])
        assert alone[0] == together[event]


def test_no_events(flows):
    recipe, layers, *_ = flows
    assert mean_cdf(recipe, layers, np.empty(0), np.empty((0, 3))).shape == (0,)
