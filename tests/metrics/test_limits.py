import numpy as np
import pytest

from unsculpt.metrics import ideal_inverse_jsd, inverse_jsd, threshold


def expected_jsd(n_pass, n_fail, bins):
    return (bins - 1) / 8 * (1 / n_pass + 1 / n_fail)


def uniform(n, seed=0):
    random = np.random.default_rng(seed)
    labels = (np.arange(n) < n // 5).astype(int)
    return random.random(n), labels, random.uniform(50, 300, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_matches_the_expectation(weighted):
    scores, labels, mass = uniform(30_000)
    ideal = ideal_inverse_jsd(
        scores,
        labels,
        mass,
        efficiency=0.2,
        bins=40,
        repeats=200,
        sample_weight=np.full(30_000, 2.5) if weighted else None,
    )
    background = scores[labels == 0]
    n_pass = np.count_nonzero(background >= threshold(scores, labels, efficiency=0.2))
    # JSD times 8 / (1/n_pass + 1/n_fail) is a chi-square of 39 degrees of freedom, whose inverse
    # has mean 1/(39 - 2) and relative spread sqrt(2/(39 - 4)).
    mean = 39 / 37 / expected_jsd(n_pass, len(background) - n_pass, 40)
    assert ideal.mean == pytest.approx(mean, rel=0.06)
    assert ideal.spread / ideal.mean == pytest.approx(np.sqrt(2 / 35), rel=0.25)


def test_random_scores_are_as_good_as_ideal():
    inverse = [inverse_jsd(*uniform(10_000, seed), bins=30) for seed in range(20)]
    ideal = ideal_inverse_jsd(*uniform(10_000), bins=30)
    assert np.mean(inverse) == pytest.approx(ideal.mean, abs=4 * ideal.spread / np.sqrt(20))


def test_window_and_base():
    scores, labels, mass = uniform(20_000)
    settings = {"bins": 20, "window": (100, 200), "repeats": 50}
    nats = ideal_inverse_jsd(scores, labels, mass, **settings)
    bits = ideal_inverse_jsd(scores, labels, mass, **settings, base=2)
    assert bits.mean == pytest.approx(nats.mean * np.log(2))
    here = (labels == 0) & (mass >= 100) & (mass <= 200)
    n_pass = np.count_nonzero(here & (scores >= threshold(scores, labels)))
    expected = 19 / 17 / expected_jsd(n_pass, here.sum() - n_pass, 20)
    assert nats.mean == pytest.approx(expected, rel=0.2)


def test_unequal_weights_cost_statistics():
    scores, labels, mass = uniform(20_000)
    weight = np.random.default_rng(1).exponential(size=20_000)
    plain = ideal_inverse_jsd(scores, labels, mass, bins=30)
    weighted = ideal_inverse_jsd(scores, labels, mass, bins=30, sample_weight=weight)
    # The effective number of events is (sum w)^2 / sum w^2, half of them for this weight.
    assert weighted.mean == pytest.approx(plain.mean / 2, rel=0.1)


def test_negative_weights(sample):
    scores, labels, mass, weight = sample
    ideal = ideal_inverse_jsd(scores, labels, mass, bins=10, sample_weight=weight)
    assert inverse_jsd(scores, labels, mass, bins=10, sample_weight=weight) < ideal.mean
    assert 0 < ideal.spread < ideal.mean


def test_one_event_may_be_all_that_fails():
    mass, weight = [60, 70, 80, 90, 80], [1, 1, 5, 1, 1]
    ideal = ideal_inverse_jsd([1, 2, 2, 2, 2], [0, 0, 0, 0, 1], mass, bins=4, sample_weight=weight)
    assert np.isfinite(ideal.mean)


def test_same_seed_same_answer():
    events = uniform(2000)
    assert ideal_inverse_jsd(*events, seed=3) == ideal_inverse_jsd(*events, seed=3)
    assert ideal_inverse_jsd(*events, seed=3) != ideal_inverse_jsd(*events, seed=4)


def test_exact_agreement_is_infinite_without_a_warning():
    ideal = ideal_inverse_jsd([1, 3, 1, 3, 2], [0, 0, 0, 0, 1], [1, 1, 2, 2, 3], bins=2)
    assert ideal.mean == np.inf
