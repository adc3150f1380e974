import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from unsculpt import FlowDecorrelator, devices
from unsculpt.datasets import toys

ROUNDING = 1e-7
PATHS = [
    "tagger",
    "two_attributes",
    *(pytest.param(x, marks=pytest.mark.slow) for x in ("atoms", "binary", "paper", "channels")),
]


def at_fixed(request, name, event=7):
    """The transform as a function of the score alone, at one event's protected attributes."""
    fixture = request.getfixturevalue(name)
    protected = fixture.table if name == "channels" else fixture.train.protected

    def transform(score):
        rows = np.full(len(score), event)
        here = protected.iloc[rows] if isinstance(protected, pd.DataFrame) else protected[rows]
        return fixture.flow.transform(score, here)

    scores = fixture.score if name == "channels" else fixture.train.score
    return transform, scores


def deepest_fall(levels):
    return -np.diff(levels).min(initial=0)


def neighbours(start, count, dtype):
    """`count` consecutive floating-point numbers."""
    bits = np.dtype(dtype).itemsize * 8
    first = np.asarray(start, dtype=dtype).view(f"i{bits // 8}")
    return (first + np.arange(count, dtype=f"i{bits // 8}")).view(dtype)


@pytest.mark.parametrize("name", PATHS)
def test_no_inversion_over_a_dense_range_that_exceeds_the_sample(name, request):
    transform, scores = at_fixed(request, name)
    low, high = scores.min(), scores.max()
    reach = high - low
    dense = np.linspace(low - reach, high + reach, 100_000)
    assert deepest_fall(transform(dense)) <= ROUNDING


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_no_inversion_between_neighbouring_numbers(name, dtype, request):
    transform, scores = at_fixed(request, name)
    # Around knots, in the bulk and at the edges: wherever a formula changes.
    starts = np.quantile(scores, [0, 0.001, 0.1, 0.5, 0.9, 0.999, 1])
    chains = [neighbours(abs(start) or 1e-3, 5_000, dtype) for start in starts]
    dense = np.sort(np.concatenate(chains))
    assert deepest_fall(transform(dense)) <= ROUNDING


@pytest.mark.parametrize("name", PATHS)
def test_no_inversion_between_random_pairs(name, request):
    transform, scores = at_fixed(request, name)
    rng = np.random.default_rng(0)
    size = 50_000
    one = rng.choice(scores, size)
    step = rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-18, 8, size)
    two = one + step * np.ptp(scores)
    first, second = transform(one), transform(two)
    fall = np.where(one <= two, first - second, second - first)
    assert fall.max() <= ROUNDING


@pytest.mark.parametrize("name", ["tagger", "two_attributes"])
def test_no_inversion_at_the_edges_of_the_attributes(name, request):
    fitted = request.getfixturevalue(name)
    protected = fitted.train.protected
    column = protected if protected.ndim == 1 else protected[:, 0]
    dense = np.linspace(-0.5, 1.5, 50_000)
    for event in (column.argmin(), column.argmax()):
        here = protected[np.full(dense.size, event)]
        assert deepest_fall(fitted.flow.transform(dense, here)) <= ROUNDING


@pytest.mark.parametrize("name", PATHS)
def test_ties_stay_ties_wherever_they_stand(name, request):
    transform, scores = at_fixed(request, name)
    value = float(np.median(scores))
    alone = transform(np.array([value]))
    size = devices.CHUNK  # events that a network is evaluated on at once
    filled = np.random.default_rng(0).choice(scores, 2 * size + 37)
    places = [0, 1, 2, 3, 5, 7, 100, size - 1, size, size + 1, 2 * size, 2 * size + 36]
    filled[places] = value
    assert np.all(transform(filled)[places] == alone)


def test_distinct_scores_stay_distinct(tagger):
    score = np.unique(tagger.train.score)
    levels = tagger.flow.transform(score, np.full(score.size, 80.0))
    assert np.all(np.diff(levels) > 0)


@pytest.mark.parametrize("name", ["tagger", pytest.param("paper", marks=pytest.mark.slow)])
def test_auc_at_a_fixed_value_is_unchanged(name, request):
    fitted = request.getfixturevalue(name)
    value = np.median(fitted.train.protected)
    toy = fitted.test
    label = toy.label
    before = roc_auc_score(label, toy.score)
    after = roc_auc_score(label, fitted.flow.transform(toy.score, np.full(label.size, value)))
    assert after == pytest.approx(before, abs=1e-6)


def test_auc_at_fixed_mass_and_momentum_is_unchanged(two_attributes):
    toy = two_attributes.test
    fixed = np.broadcast_to([80.0, 450.0], toy.protected.shape)
    after = roc_auc_score(toy.label, two_attributes.flow.transform(toy.score, fixed))
    assert after == pytest.approx(roc_auc_score(toy.label, toy.score), abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_finite_scores_give_ordered_numbers_on_the_unit_interval(data, tagger_once):
    sizes = st.floats(-1e30, 1e30) | st.floats(-1e-30, 1e-30) | st.floats(-1, 2)
    score = np.sort(data.draw(st.lists(sizes, min_size=1, max_size=20)))
    levels = tagger_once.transform(score, np.full(score.size, 80.0))
    assert np.all((levels >= 0) & (levels <= 1))
    assert deepest_fall(levels) <= ROUNDING


@pytest.fixture(scope="module")
def tagger_once(tagger):
    return copy.copy(tagger.flow)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_fit_on_any_finite_scores_gives_no_nan(data):
    exponent = data.draw(st.sampled_from([-30, -3, 0, 3, 30]))
    values = st.floats(-1, 1) | st.sampled_from([0.0, 1.0, -1.0])
    score = np.array(data.draw(st.lists(values, min_size=30, max_size=30))) * 10.0**exponent
    score[0] += 10.0**exponent * 3  # not constant
    mass = toys.tagger(30, 0).protected
    flow = FlowDecorrelator(members=1, epochs=1, batch_size=30).fit(score, mass)
    levels = flow.transform(score, mass)
    assert np.all((levels >= 0) & (levels <= 1))
    assert np.isfinite(flow.inverse_transform(levels, mass)).all()
    assert not np.isnan(flow.log_prob(score, mass)).any()
