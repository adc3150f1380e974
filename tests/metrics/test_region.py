import numpy as np
import pytest

from unsculpt.metrics import signal_window


def test_normal_peak():
    mass = np.random.default_rng(0).normal(80, 10, 50_000)
    low, high = signal_window(mass)
    assert (low + high) / 2 == pytest.approx(80, abs=1)
    assert (high - low) / 2 == pytest.approx(12.8, abs=0.3)
    assert np.mean((mass >= low) & (mass <= high)) == pytest.approx(0.8, abs=1e-3)


def test_a_tail_does_not_move_the_peak():
    random = np.random.default_rng(1)
    mass = np.concatenate([random.normal(80, 5, 7000), random.uniform(100, 300, 3000)])
    low, high = signal_window(mass, fraction=0.5)
    assert (low + high) / 2 == pytest.approx(80, abs=2)
    assert np.median(mass) > 82


def test_weights_of_zero_and_cancelling_weights_remove_events():
    mass = np.random.default_rng(2).normal(80, 10, 500)
    more = np.concatenate([mass, [200.0, 300, 300]])
    weight = np.concatenate([np.ones(500), [0.0, 1, -1]])
    assert signal_window(more, sample_weight=weight) == pytest.approx(signal_window(mass))


def test_negative_weights():
    random = np.random.default_rng(3)
    mass = random.normal(80, 10, 20_000)
    weight = np.where(random.random(20_000) < 0.2, -1, 1)
    low, high = signal_window(mass, sample_weight=weight)
    assert (low + high) / 2 == pytest.approx(80, abs=3)
    inside = (mass >= low) & (mass <= high)
    assert weight[inside].sum() / weight.sum() == pytest.approx(0.8, abs=1e-3)


def test_equal_masses():
    assert signal_window([80, 80, 80]) == (80, 80)
