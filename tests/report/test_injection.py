"""Signal in the sample of a fit."""

import numpy as np
import pytest

from unsculpt import DDTDecorrelator, SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.report import inject_signal
from unsculpt.report.injection import _Search


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(20_000, 2_000, seed=1)


@pytest.fixture(scope="module")
def found(toy):
    return inject_signal(
        SplineDecorrelator(), toy.score, toy.protected, toy.label, [0.001, 0.1], efficiency=0.05
    )


def test_more_signal_moves_the_map_more_and_hides_the_bump(found):
    few, many = found
    assert few.moved < 0.1 * many.moved
    assert few.errors < 1 < many.errors
    assert few.moved <= few.farthest
    assert many.polluted.signal < 0.9 * many.clean.signal
    significance = [f.excess / f.error for f in (many.clean, many.polluted)]
    assert significance[0] > 10
    assert significance[1] < 0.7 * significance[0]


def test_how_much_signal_was_simulated_does_not_matter(toy):
    times = np.where(toy.label == 1, 5, 1)
    once, often = (
        _Search(*(x.repeat(n) for x in columns), 0.1, (70.0, 95.0))(toy.score.repeat(n), 0.05)
        for n in (np.ones_like(times), times)
        for columns in [(toy.protected, toy.label, np.ones(len(times)))]
    )
    assert often.excess == pytest.approx(once.excess, rel=0.01)
    assert often.error == pytest.approx(once.error, rel=0.01)


@pytest.mark.parametrize(("strength", "efficiency"), [(0.1, 0.01), (1.0, 0.05)])
def test_a_tagger_that_lets_no_background_pass(strength, efficiency):
    random = np.random.default_rng(1)
    label, mass = np.arange(6_000) < 2_000, random.exponential(50, 6_000)
    mass[label] = random.normal(60, 5, 2_000)
    score = random.logistic(size=6_000) + 20 * label
    (one,) = inject_signal(
        SplineDecorrelator(), score, mass, label, [strength], efficiency=efficiency
    )
    assert np.isfinite([one.clean.excess, one.clean.error, one.polluted.error]).all()
    assert one.clean.error > abs(one.clean.excess)  # nothing tells what to expect in the window


@pytest.mark.slow
def test_signal_that_is_like_background_changes_nothing():
    toy = toys.tagger(20_000, 0, seed=2)
    label = np.zeros(20_000)
    inside = np.flatnonzero((toy.protected > 75) & (toy.protected < 85))[::10]
    label[inside] = 1
    (one,) = inject_signal(SplineDecorrelator(), toy.score, toy.protected, label, [0.01])
    assert one.errors < 0.5


def test_a_map_without_an_error(toy):
    (one,) = inject_signal(DDTDecorrelator(), toy.score, toy.protected, toy.label, [0.01])
    assert one.errors is None
    assert one.plain()["errors"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.zeros(22_000)}, "no signal among"),
        ({"strengths": [2.0]}, "strengths has 2; expected fractions above 0"),
        ({"sample_weight": -np.ones(22_000)}, "background sums to -"),
        ({"efficiency": 0.0}, "efficiency is 0"),
        ({"labels": [0, 1]}, "labels has 2"),
    ],
)
def test_bad_input_is_named(toy, change, message):
    given = {"labels": toy.label, "strengths": [0.01]} | change
    labels, strengths = given.pop("labels"), given.pop("strengths")
    with pytest.raises(ValueError, match=message):
        inject_signal(DDTDecorrelator(), toy.score, toy.protected, labels, strengths, **given)


def test_a_signal_as_wide_as_the_background_is_refused(toy):
    signal = toy.label == 1
    mass = toy.protected.copy()
    mass[signal] = np.linspace(50, 300, signal.sum())
    with pytest.raises(ValueError, match="expected a signal narrower than half"):
        inject_signal(DDTDecorrelator(), toy.score, mass, toy.label, [0.01])


@pytest.mark.parametrize("outside", ["nan", "raise"])
def test_the_policy_of_the_model_does_not_matter(outside):
    random = np.random.default_rng(1)
    mass, label = random.exponential(50, 3000), np.zeros(3000)
    label[:300], mass[:300] = 1, random.normal(60, 5, 300)
    model = DDTDecorrelator(outside=outside)
    (one,) = inject_signal(model, random.random(3000), mass, label, [0.01])
    assert np.isfinite(one.moved)
    assert model.outside == outside


def test_weights_count_and_their_scale_does_not(toy):
    events = toy.score, toy.protected, toy.label
    light = np.where(toy.protected < 100, 1.0, 1e-3)
    plain, one, two = (
        inject_signal(DDTDecorrelator(), *events, [0.1], sample_weight=weight)[0]
        for weight in (None, light, 2 * light)
    )
    assert one.moved == pytest.approx(two.moved)
    assert one.farthest == pytest.approx(two.farthest)
    assert one.moved != pytest.approx(plain.moved, rel=1e-3)


def test_weights_of_either_sign(toy, found):
    random = np.random.default_rng(9)
    weight = np.where(random.random(len(toy.score)) < 0.1, -1.0, 1.0)
    events = toy.score, toy.protected, toy.label
    (one,) = inject_signal(
        SplineDecorrelator(), *events, [0.1], efficiency=0.05, sample_weight=weight
    )
    many = found[1]
    assert one.moved == pytest.approx(many.moved, rel=0.1)
    assert one.polluted.signal == pytest.approx(many.polluted.signal, rel=0.1)
    significance = [f.excess / f.error for f in (one.clean, one.polluted)]
    assert significance[1] < 3 < significance[0]
