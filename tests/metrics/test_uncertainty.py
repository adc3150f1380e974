import math

import numpy as np
import pytest

from unsculpt.metrics import auc, auc_in_bins, bin_edges, bootstrap, inverse_jsd, jsd, rejection


def mean(values, sample_weight=None):
    return float(np.average(values, weights=sample_weight))


def test_interval_of_a_mean():
    values = np.random.default_rng(0).normal(size=400)
    value, low, high = bootstrap(mean, values, repeats=500)
    assert value == values.mean()
    error = values.std() / 20
    assert value - low == pytest.approx(error, rel=0.2)
    assert high - value == pytest.approx(error, rel=0.2)
    wide = bootstrap(mean, values, repeats=500, confidence=0.95)
    assert wide.high - wide.low == pytest.approx(2 * 1.96 * error, rel=0.2)


def flat_toy(seed, n=1000):
    random = np.random.default_rng(seed)
    return random.random(n), np.arange(n) % 2, random.random(n)


def test_flat_score_is_covered():
    edges = np.linspace(0, 1, 11)
    average = np.mean([inverse_jsd(*flat_toy([1, i]), bins=edges) for i in range(500)])
    toys = [flat_toy(i) for i in range(40)]
    results = [bootstrap(inverse_jsd, *toy, bins=edges, repeats=50) for toy in toys]
    assert all(0 < low < value < high for value, low, high in results)
    assert 0.45 < np.mean([low < average < high for _, low, high in results]) < 0.85


def test_inverse_has_the_inverse_interval():
    settings = {"bins": np.linspace(0, 1, 11), "repeats": 101}
    value, low, high = bootstrap(jsd, *flat_toy(0), **settings)
    inverse = bootstrap(inverse_jsd, *flat_toy(0), **settings)
    assert inverse == pytest.approx((1 / value, 1 / high, 1 / low))


def test_unbiased_metric_keeps_its_percentiles():
    labels = np.arange(2000) % 2
    scores = np.random.default_rng(0).normal(labels)
    draws = []

    def kept(scores, labels):
        draws.append(auc(scores, labels))
        return draws[-1]

    value, low, high = bootstrap(kept, scores, labels, repeats=400)
    percentile = np.quantile(draws[1:], [0.1585, 0.8415])
    assert low < value < high
    assert np.abs(percentile - [low, high]).max() < 0.15 * (high - low)


def test_biased_metric_of_either_sign():
    def moved(values):  # only resamples repeat events
        repeats = len(np.unique(values)) < len(values)
        return np.array([values.mean() + 100 * repeats, values.mean() - 100 * repeats])

    values = np.random.default_rng(0).normal(-1, size=200)
    plain = bootstrap(mean, values)
    value, low, high = bootstrap(moved, values)
    assert np.all((low < value) & (value < high))
    assert (value[1], low[1], high[1]) == pytest.approx(plain)


def test_infinite_value_leaves_the_resamples_alone():
    def infinite_once(values):
        return math.inf if len(np.unique(values)) == len(values) else mean(values)

    values = np.arange(100.0)
    value, low, high = bootstrap(infinite_once, values)
    assert value == math.inf
    assert 40 < low < high < 60
    assert bootstrap(lambda x: math.inf, values) == (math.inf,) * 3


def test_rows_stay_together():
    x = np.arange(50.0)

    def correlation(x, y, *, protected, sample_weight):
        assert np.array_equal(protected, x)
        assert np.array_equal(sample_weight, x)
        return float(np.corrcoef(x, y)[0, 1])

    result = bootstrap(correlation, x, 2 * x, protected=x, sample_weight=x, repeats=10)
    assert result == pytest.approx((1, 1, 1))


def test_settings_reach_the_metric(sample):
    scores, labels, mass, weight = sample
    settings = {"efficiency": 0.3, "window": (70, 100), "sample_weight": weight}
    result = bootstrap(rejection, scores, labels, protected=mass, repeats=20, **settings)
    assert result.value == rejection(scores, labels, protected=mass, **settings)
    assert result.low < result.value < result.high
    assert isinstance(result.low, float)


def test_arrays_with_empty_bins(sample):
    scores, labels, mass, _ = sample
    edges = np.append(bin_edges([60, 100], 4), 5000)
    value, low, high = bootstrap(auc_in_bins, scores, labels, mass, bins=[0, *edges], repeats=20)
    assert value.shape == low.shape == high.shape == (6,)
    assert np.isnan(low).tolist() == np.isnan(value).tolist()
    assert np.all((low <= high) | np.isnan(low))


def test_same_seed_same_answer(sample):
    scores, labels, mass, _ = sample
    first, second = (bootstrap(jsd, scores, labels, mass, repeats=5, seed=1) for _ in range(2))
    assert first == second


def test_infinite_values_are_kept():
    result = bootstrap(rejection, [0, 0, 0, 2, 1], [0, 0, 0, 0, 1], repeats=100, seed=2)
    assert result.value == 4
    assert result.high == math.inf


def test_resamples_without_a_class_are_left_out():
    labels = np.array([0] * 20 + [1] * 2)
    scores = np.arange(22.0)
    assert bootstrap(auc, scores, labels) == (1, 1, 1)


def test_too_few_events_of_a_class():
    def every_event_once(values):
        if len(np.unique(values)) < 20:
            raise ValueError("an event is missing")
        return 1.0

    with pytest.raises(ValueError, match="only 0 of 200 resamples of 20 events"):
        bootstrap(every_event_once, np.arange(20))


def test_unequal_lengths():
    with pytest.raises(ValueError, match=r"\[2, 3\] events"):
        bootstrap(auc, [1, 2], [0, 1, 0])
