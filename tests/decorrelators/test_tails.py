import numpy as np
import pytest
from scipy.stats import kstest

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.protected import ProtectedAttributes
from unsculpt.decorrelators.tails import FEWEST, Tails

EVENTS = 20_000


def coordinates(values, categorical=()):
    attributes = ProtectedAttributes.of(values, np.ones(len(values)), categorical, linear=False)
    return attributes, attributes.features(values, "raise")[0]


def tails_of(values, categorical=()):
    return Tails.of(*coordinates(values, categorical))


@pytest.fixture(scope="module")
def long_tailed():
    """Masses between 0 and 1 with one per cent spread up to 3."""
    rng = np.random.default_rng(0)
    mass = np.concatenate([rng.uniform(0, 1, EVENTS - 200), rng.uniform(1, 3, 200)])
    return rng.permutation(mass)


def test_a_spectrum_that_fills_its_range_has_no_tails():
    for values in (toys.tagger(EVENTS, 0, seed=0).protected, np.linspace(0, 1, EVENTS)):
        assert tails_of(values).start.tolist() == [[-1], [1]]


@pytest.mark.parametrize("side", [1, -1])
def test_a_tail_is_found_on_its_side(long_tailed, side):
    attributes, features = coordinates(side * long_tailed)
    tails = Tails.of(attributes, features)
    (low, high), values = tails.start[:, 0], features[:, 0]
    assert (low == -1) == (side == 1)
    assert (high == 1) == (side == -1)
    beyond = (values < low) | (values > high)
    assert 200 <= beyond.sum() < 400
    assert np.abs(long_tailed[beyond]).min() > 0.95


def test_a_tail_of_few_events_is_left_alone(long_tailed):
    few = long_tailed[: len(long_tailed) * FEWEST // 400]
    assert (few > 1).sum() < FEWEST
    assert tails_of(few).start.tolist() == [[-1], [1]]


def test_a_rare_category_is_no_tail(long_tailed):
    rare = (np.arange(EVENTS) % 100 == 0).astype(float)
    start = tails_of(np.column_stack([rare, long_tailed]), [0]).start
    assert start[:, :2].tolist() == [[-1, -1], [1, 1]]
    assert start[1, 2] < 1


def test_only_the_tail_is_stretched_and_its_order_is_kept(long_tailed):
    attributes, features = coordinates(np.sort(long_tailed))
    tails = Tails.of(attributes, features)
    stretched = tails.stretch(features)
    bulk = features <= tails.start[1]
    assert np.array_equal(stretched[bulk], features[bulk])
    assert np.all(np.diff(stretched[:, 0]) >= 0)
    assert stretched.max() == pytest.approx(7, abs=0.01)  # its end was at 1


def test_weights_depend_on_nothing_but_the_attribute(long_tailed):
    attributes, features = coordinates(long_tailed)
    tails = Tails.of(attributes, features)
    weight = tails.weight(features)
    tail = features[:, 0] > tails.start[1, 0]
    assert np.all(weight[~tail] == 1)
    assert weight[tail].max() > 1
    assert np.array_equal(tails.weight(features[::-1]), weight[::-1])


def test_the_flow_follows_the_score_into_the_tail(long_tailed):
    """The response turns around where one event in a hundred is."""
    shift = np.where(long_tailed > 1, 2.0, 0.0)
    score = np.random.default_rng(1).normal(size=EVENTS) + shift
    flow = us.FlowDecorrelator(members=2).fit(score, long_tailed)
    fresh = np.random.default_rng(2).uniform(1.3, 2.9, 2000)
    flat = flow.transform(np.random.default_rng(3).normal(2, 1, 2000), fresh)
    assert kstest(flat, "uniform").statistic < 0.15


def test_tails_survive_a_file(long_tailed, tmp_path):
    score = np.random.default_rng(1).normal(size=EVENTS) + long_tailed
    two = np.column_stack([long_tailed, np.linspace(0, 1, EVENTS)])
    flow = us.FlowDecorrelator(members=1, epochs=1).fit(score, two)
    assert flow.columns_[0].tails.start[1, 0] < 1
    flow.save(tmp_path / "flow.unsculpt")
    again = us.load(tmp_path / "flow.unsculpt")
    assert np.array_equal(again.transform(score, two), flow.transform(score, two))
