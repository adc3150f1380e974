from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.flow.tails import FEWEST, Tails

EVENTS, RARE = 40_000, 400


def tails_of(values, categorical=(), weight=None):
    weight = np.ones(len(values)) if weight is None else weight
    attributes = ProtectedAttributes.learn(values, weight, categorical)
    features = attributes.features(values, "raise")[0]
    return Tails.find(attributes, features, weight), features


def ramps_of(values, **how):
    tails, features = tails_of(values, **how)
    return tails.widen(features)[:, tails.inputs :]


@pytest.fixture(scope="module")
def mass():
    """Between 0 and 1, with one per cent up to 3."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.uniform(0, 1, EVENTS - RARE), rng.uniform(1, 3, RARE)])


@pytest.mark.parametrize(
    "values", [toys.tagger(EVENTS, 0, seed=0).protected, np.linspace(0, 1, EVENTS)]
)
def test_a_spectrum_that_fills_its_range_has_no_tails(values):
    assert ramps_of(values).shape == (EVENTS, 0)


@pytest.mark.parametrize("side", [1, -1])
def test_ramps_rise_on_the_way_to_the_tail_over_it_its_last_half_quarter_and_eighth(mass, side):
    order = np.argsort(mass)
    ramps = ramps_of(side * mass[order])
    assert ramps.shape == (EVENTS, 6)
    assert np.all(ramps[mass[order] < 0.9] == 0)
    assert np.all(np.diff(ramps, axis=0) >= 0)
    # To the nearest nodes of the table.
    *before, tail, half, quarter, eighth = (ramps > 0).sum(axis=0)
    assert RARE <= tail < 1.5 * RARE
    parts = [*before, half, quarter, eighth]
    np.testing.assert_allclose(parts, tail * np.array([4, 2, 1 / 2, 1 / 4, 1 / 8]), rtol=0.1)
    assert eighth >= FEWEST
    last = (ramps == 1).sum(axis=0)
    assert np.all(last == last[0])
    assert 5 <= last[0] <= 10


@pytest.mark.parametrize("side", [1, -1])
def test_an_attribute_with_a_tail_comes_by_its_place_in_the_range_as_well(mass, side):
    values = np.column_stack([np.linspace(0, 1, EVENTS), side * mass])
    tails, features = tails_of(values)
    network = tails.widen(features)[:, : tails.inputs].T
    np.testing.assert_array_equal(network[:2], features.T)
    across = 2 * (values[:, 1] - values[:, 1].min()) / np.ptp(mass) - 1
    inside = mass < np.sort(mass)[-20]  # it ends where the ramps end
    np.testing.assert_allclose(network[2][inside], across[inside], atol=0.005)
    # A hundredth of the events on two thirds of the range: there it has twice the room.
    tail = inside & (mass > 1)
    assert np.ptp(network[2][tail]) > 1.9 * np.ptp(network[1][tail])


def test_counts_have_their_place_in_the_range_too():
    count = np.random.default_rng(0).geometric(0.3, EVENTS).astype(float)
    tails, features = tails_of(count)
    across = 2 * (count - count.min()) / np.ptp(count) - 1
    place = tails.widen(features)[:, 1]
    inside = count < np.sort(count)[-20]
    np.testing.assert_allclose(place[inside], across[inside], atol=0.005)


@pytest.mark.parametrize("side", [1, -1])
def test_the_place_in_the_range_stays_where_the_ramps_end(mass, side):
    """So one event far beyond a tail is not what the network reaches out to."""
    tails, _ = tails_of(side * np.append(mass, 6.0))
    place, *ramps = tails.widen(side * np.linspace(-1, 1, 997)[:, None])[:, 1:].T
    ended = np.min(ramps, axis=0) == 1
    assert 0 < ended.sum() < 500
    assert np.ptp(place[ended]) == 0
    assert np.all(side * np.diff(place[~ended]) > 0)


def test_a_tail_of_few_events_is_left_alone(mass):
    few = mass[:: EVENTS // 2000]
    assert 0 < (few > 1).sum() < FEWEST
    assert ramps_of(few).shape[1] == 0


def test_events_that_cancel_say_nothing(mass):
    sign = np.where(np.arange(EVENTS) % 2, -1.0, 1.0)
    assert ramps_of(mass, weight=np.where(mass > 1, sign, 1)).shape[1] == 0


def test_events_that_hardly_count_make_no_ramps(mass):
    assert ramps_of(mass, weight=np.where(mass > 1, 1e-6, 1.0)).shape[1] == 0


@pytest.mark.parametrize("seed", range(6))
def test_weights_of_many_orders_of_magnitude_come_to_an_end(seed):
    """As of simulation in slices: their shares once added up to more than 1, which never ended."""
    rng = np.random.default_rng(seed)
    mass = rng.uniform(size=EVENTS)
    weight = rng.gamma(4, size=EVENTS) * 10 ** (-1.5 * np.floor(10 * mass))
    assert len(ramps_of(mass, weight=weight)) == EVENTS


def test_few_values_make_no_ramp_twice():
    count = np.random.default_rng(0).poisson(1, EVENTS).astype(float)
    ramps = ramps_of(count)
    assert ramps.shape[1] == len(np.unique(ramps, axis=1).T) > 0


def test_an_outlier_beyond_a_sharp_edge_is_no_tail(mass):
    assert ramps_of(np.append(mass[mass < 1], 3)).shape[1] == 0


def test_an_overflow_bin_has_a_ramp_that_ends_there(mass):
    ramps = ramps_of(np.where(mass > 1, 3, mass)).T
    assert len(ramps)
    for ramp in ramps:
        assert np.array_equal(ramp == 1, mass > 1)


def test_a_rare_category_is_no_tail(mass):
    rare = (np.arange(EVENTS) % 100 == 0).astype(float)
    tails, _ = tails_of(np.column_stack([rare, mass]), categorical=[0])
    assert np.all(tails.slope[:2] == 0)
    assert np.all(tails.slope[2] > 0)
    assert tails.tailed.tolist() == [2]


@pytest.mark.slow
def test_a_score_that_does_not_depend_on_the_attribute_stays_as_it_is(mass):
    score = np.random.default_rng(1).uniform(size=EVENTS)
    flow = us.FlowDecorrelator(members=2).fit(score, mass)
    assert flow.cdfs_[0].tails.offset.size
    grid = np.linspace(0, 1, 101)
    for place, limit in ((0.5, 0.02), (2, 0.1), (2.9, 0.1)):  # a hundred events tell 0.1
        flat = flow.transform(grid, np.full(101, float(place)))
        assert abs(flat - grid).max() < limit


@pytest.mark.slow
def test_the_flow_follows_a_score_that_turns_in_the_tail():
    def response(mass):
        return np.sin(2 * mass) + np.random.default_rng(1).normal(size=len(mass))

    def error(flow):
        """Mean beyond three standard deviations, where 2.7 per mille of the events are."""
        fresh = np.random.default_rng(2).choice([-1, 1], 2000) * np.linspace(3, 3.6, 2000)
        score = response(fresh)
        return abs(flow.transform(score, fresh) - norm.cdf(score - np.sin(2 * fresh))).mean()

    mass = np.random.default_rng(0).normal(size=EVENTS)
    flow = us.FlowDecorrelator(members=2)
    with_ramps = error(flow.fit(response(mass), mass))
    with patch.object(Tails, "find", lambda *_: Tails.none(1)):
        without = error(flow.fit(response(mass), mass))
    assert with_ramps < 0.2 < without / 1.5


@pytest.fixture(scope="module")
def fit(mass):
    """A flow of one attribute with a tail, or with another attribute beside it."""
    score = np.random.default_rng(1).normal(size=EVENTS) + mass**2
    tables = {"one": mass, "two": np.column_stack([np.linspace(0, 1, EVENTS), mass])}

    @cache
    def fit(name):
        flow = us.FlowDecorrelator(members=2, epochs=1).fit(score, tables[name])
        return flow, score, tables[name]

    return fit


ATTRIBUTES = ["one", pytest.param("two", marks=pytest.mark.slow)]


@pytest.mark.slow
def test_the_table_keeps_up_with_the_ramps(fit):
    flow, score, mass = fit("one")
    (column,) = flow.cdfs_
    features, _ = flow.attributes_.features(mass, "raise")
    exact = column._members(column.coordinate(score), features)[0].mean(axis=0)
    np.testing.assert_allclose(flow.transform(score, mass), exact, atol=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_scores_of_the_tail_come_back(fit, name):
    flow, score, protected = fit(name)
    tail = protected.T[-1] > 1 if name == "two" else protected > 1
    flat = flow.transform(score[tail], protected[tail])
    back = flow.inverse_transform(flat, protected[tail])
    np.testing.assert_allclose(back, score[tail], atol=1e-3)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_tails_survive_a_file(fit, name, tmp_path):
    flow, score, protected = fit(name)
    flow.save(tmp_path / "flow.unsculpt")
    again = us.load(tmp_path / "flow.unsculpt")
    for method in ("transform", "log_prob"):
        expected = getattr(flow, method)(score, protected)
        assert np.array_equal(getattr(again, method)(score, protected), expected)
