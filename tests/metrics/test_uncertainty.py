import math

import numpy as np
import pytest

from unsculpt.metrics import auc, auc_in_bins, bin_edges, bootstrap, jsd, rejection


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
