"""The error of the map against the exact CDF of toys."""

import numpy as np
import pytest

import unsculpt as us
from unsculpt.datasets import toys


def pulls(toy, events, seed, weight=None):
    """How far the map is from the truth at its own median and 10% cut, in its errors."""
    train = toy(events, 0, seed=seed)
    spline = us.SplineDecorrelator().fit(train.score, train.protected, sample_weight=weight)
    low, high = np.quantile(train.protected, [0.02, 0.98], axis=0)
    at = np.linspace(low, high, 41)
    found = []
    for efficiency in (0.5, 0.1):
        cut = spline.threshold(efficiency, at)
        off = spline.transform(cut, at) - train.cdf(cut, at)
        found.append(off / spline.uncertainty(cut, at))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("toy", [toys.smooth, toys.tagger])
def test_pulls_are_about_one_wide(toy):
    width = np.sqrt(np.mean([pulls(toy, 4_000, seed) ** 2 for seed in range(12)]))
    assert 0.7 < width < 1.35


@pytest.mark.slow
def test_the_error_falls_with_the_events_and_not_with_their_weight():
    toy = toys.tagger(4_000, 0, seed=1)
    many = us.SplineDecorrelator().fit(toy.score, toy.protected)
    few = us.SplineDecorrelator().fit(toy.score[:1000], toy.protected[:1000])
    heavy = us.SplineDecorrelator().fit(toy.score, toy.protected, sample_weight=np.full(4_000, 3.0))
    mass = np.quantile(toy.protected, np.linspace(0.1, 0.9, 9))
    cut = many.threshold(0.5, mass)
    errors = [spline.uncertainty(cut, mass).mean() for spline in (many, few, heavy)]
    assert 1.3 < errors[1] / errors[0] < 3
    assert errors[2] == pytest.approx(errors[0], rel=1e-3)


@pytest.mark.slow
def test_weights_of_both_signs_do_not_blow_the_error_up():
    """Fits on a learned scale may run away then; they are out of the mean, and of its error."""
    toy = toys.tagger(32_000, 0, seed=9600)
    sign = np.where(np.random.default_rng(9650).random(32_000) < 0.05, -1.0, 1.0)
    every, net = (
        us.SplineDecorrelator().fit(toy.score, toy.protected, sample_weight=weight)
        for weight in (None, sign)
    )
    errors = [spline.uncertainty(toy.score, toy.protected) for spline in (every, net)]
    plain, signed = (np.sqrt(np.mean(error**2)) for error in errors)
    assert 0.9 < signed / plain < 1.5
    assert net.variations(1)[0][0].share_ < 0.3


@pytest.mark.slow
def test_two_attributes_and_several_scores():
    toy = toys.two_attributes(400, 0, seed=1)
    scores = np.column_stack([toy.score, -toy.score])
    spline = us.SplineDecorrelator().fit(scores, toy.protected)
    error = spline.uncertainty(scores, toy.protected)
    assert error.shape == scores.shape
    assert np.all((error >= 0) & (error < 0.2))
    assert error.mean() > 1e-3


def test_a_file_keeps_it(tmp_path):
    toy = toys.tagger(2_000, 0, seed=1)
    spline = us.SplineDecorrelator().fit(toy.score, toy.protected)
    spline.save(tmp_path / "a.unsculpt")
    loaded = us.load(tmp_path / "a.unsculpt")
    expected = spline.uncertainty(toy.score, toy.protected)
    assert np.array_equal(loaded.uncertainty(toy.score, toy.protected), expected)
    more = toys.tagger(4_000, 0, seed=2)
    low, high = toy.protected.min(), toy.protected.max()
    inside = (more.protected > low) & (more.protected < high)
    spline.partial_fit(more.score[inside], more.protected[inside])  # forgets the old errors
    assert spline.uncertainty(toy.score, toy.protected).mean() < expected.mean()


def test_categories_alone():
    """As the error of a fraction: the fit follows each category."""
    random = np.random.default_rng(0)
    era = random.integers(3, size=6_000)
    score = random.normal(0.5 * era)
    spline = us.SplineDecorrelator(categorical=[0]).fit(score, era)
    error = spline.uncertainty([0.0, 0.5, 1.0], [0, 1, 2])
    binomial = 0.5 / np.sqrt(2_000)
    assert np.all((error > 0.4 * binomial) & (error < 1.3 * binomial))


def test_a_second_fit_forgets_the_first():
    toy = toys.tagger(2_000, 0, seed=1)
    spline = us.SplineDecorrelator().fit(toy.score, toy.protected)
    spline.uncertainty(toy.score[:3], toy.protected[:3])
    few = (toy.score[:400], toy.protected[:400])
    fresh = us.SplineDecorrelator().fit(*few)
    again = spline.fit(*few).uncertainty(*few)
    assert np.array_equal(again, fresh.uncertainty(*few))


@pytest.mark.parametrize("values", [2, 3])
def test_scores_of_a_few_values(values):
    """There are no more thresholds than functions of the score."""
    random = np.random.default_rng(0)
    score, mass = random.integers(values, size=500).astype(float), random.uniform(size=500)
    spline = us.SplineDecorrelator().fit(score, mass)
    error = spline.uncertainty(score, mass)
    assert np.all((error > 1e-3) & (error < 0.1))
    ((up, down),) = spline.variations(1)
    assert np.all(np.abs(up.transform(score, mass) - down.transform(score, mass)) < 4 * error)
