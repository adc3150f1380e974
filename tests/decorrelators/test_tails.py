from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.protected import ProtectedAttributes
from unsculpt.decorrelators.tails import FEWEST, HEIGHT, Tails

EVENTS, RARE = 20_000, 200


def tails_of(values, categorical=(), weight=None):
    weight = np.ones(len(values)) if weight is None else weight
    attributes = ProtectedAttributes.of(values, weight, categorical, linear=False)
    features = attributes.features(values, "raise")[0]
    return Tails.of(attributes, features, weight), features


@pytest.fixture(scope="module")
def mass():
    """Between 0 and 1, with one per cent up to 3."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.uniform(0, 1, EVENTS - RARE), rng.uniform(1, 3, RARE)])


@pytest.mark.parametrize(
    "values", [toys.tagger(EVENTS, 0, seed=0).protected, np.linspace(0, 1, EVENTS)]
)
def test_a_spectrum_that_fills_its_range_has_no_tails(values):
    tails, features = tails_of(values)
    assert np.array_equal(tails.widen(features), features)


@pytest.mark.parametrize("side", [1, -1])
def test_ramps_rise_over_the_tail_alone(mass, side):
    order = np.argsort(mass)
    tails, features = tails_of(side * mass[order])
    ramps = tails.widen(features)[:, 1:]
    assert ramps.shape == (EVENTS, 4)
    assert np.all(ramps[mass[order] < 0.95] == 0)
    assert np.all(np.diff(ramps, axis=0) >= 0)
    np.testing.assert_allclose(ramps[-1], HEIGHT, rtol=1e-3)
    # The tail, its last half, quarter and eighth, to the nearest nodes of the table.
    tail, *parts = (ramps > 0).sum(axis=0)
    assert RARE <= tail < 1.5 * RARE
    np.testing.assert_allclose(parts, tail / np.array([2, 4, 8]), atol=5)


def test_a_tail_of_few_events_is_left_alone(mass):
    few = mass[:: RARE // FEWEST + 1]
    assert (few > 1).sum() < FEWEST
    assert tails_of(few)[0].offset.size == 0


def test_weights_of_either_sign_make_a_tail_heavier(mass):
    weight = np.where(np.arange(EVENTS) % 2, -10.0, 10.0)
    assert tails_of(mass, weight=np.where(mass > 1, weight, 1))[0].offset.size == 0


def test_a_rare_category_is_no_tail(mass):
    rare = (np.arange(EVENTS) % 100 == 0).astype(float)
    tails, _ = tails_of(np.column_stack([rare, mass]), categorical=[0])
    assert np.all(tails.slope[:2] == 0)
    assert np.all(tails.slope[2] > 0)


def test_an_overflow_bin_is_no_ramp(mass):
    """Events at the very end leave a ramp no room to rise."""
    tails, features = tails_of(np.where(mass > 1, 3, mass))
    assert len(tails.offset) == 1
    assert np.isfinite(tails.widen(features)).all()


def test_the_flow_follows_a_score_that_turns_in_the_tail():
    def response(mass):
        return np.sin(2 * mass) + np.random.default_rng(1).normal(size=len(mass))

    def error(flow):
        """Mean beyond three standard deviations, where 2.7 per mille of the events are."""
        fresh = np.random.default_rng(2).choice([-1, 1], 2000) * np.linspace(3, 3.6, 2000)
        score = response(fresh)
        return abs(flow.transform(score, fresh) - norm.cdf(score - np.sin(2 * fresh))).mean()

    mass = np.random.default_rng(0).normal(size=2 * EVENTS)
    flow = us.FlowDecorrelator(members=2)
    with_ramps = error(flow.fit(response(mass), mass))
    with patch.object(Tails, "of", lambda *_: Tails.none(1)):
        without = error(flow.fit(response(mass), mass))
    assert with_ramps < 0.12 < without / 2


@pytest.fixture(scope="module")
def fitted(mass):
    """A flow of one attribute with a tail, and one with another attribute beside it."""
    score = np.random.default_rng(1).normal(size=EVENTS) + mass**2
    return {
        name: (us.FlowDecorrelator(members=2, epochs=5).fit(score, protected), score, protected)
        for name, protected in {
            "one": mass,
            "two": np.column_stack([np.linspace(0, 1, EVENTS), mass]),
        }.items()
    }


def test_the_table_is_straight_where_the_ramps_are(fitted):
    flow, score, mass = fitted["one"]
    (column,) = flow.columns_
    features, _ = flow.attributes_.features(mass, "raise")
    exact = column._members(column.coordinate(score), features)[0].mean(axis=0)
    np.testing.assert_allclose(flow.transform(score, mass), exact, atol=1e-3)


@pytest.mark.parametrize("name", ["one", "two"])
def test_scores_of_the_tail_come_back(fitted, name):
    flow, score, protected = fitted[name]
    tail = protected.T[-1] > 1 if name == "two" else protected > 1
    flat = flow.transform(score[tail], protected[tail])
    back = flow.inverse_transform(flat, protected[tail])
    np.testing.assert_allclose(back, score[tail], atol=1e-3)


@pytest.mark.parametrize("name", ["one", "two"])
def test_tails_survive_a_file(fitted, name, tmp_path):
    flow, score, protected = fitted[name]
    flow.save(tmp_path / "flow.unsculpt")
    again = us.load(tmp_path / "flow.unsculpt")
    for method in ("transform", "log_prob"):
        expected = getattr(flow, method)(score, protected)
        assert np.array_equal(getattr(again, method)(score, protected), expected)


def test_a_file_from_before_there_were_tails():
    toy = toys.tagger(1000, 0, seed=0)
    flow = us.FlowDecorrelator(members=1, epochs=1).fit(toy.score, toy.protected)
    arrays, about = flow._state()
    old = {name: array for name, array in arrays.items() if not name.startswith("tails")}
    again = us.FlowDecorrelator()
    again._restore(old, about)
    expected = flow.log_prob(toy.score, toy.protected)
    assert np.array_equal(again.log_prob(toy.score, toy.protected), expected)
