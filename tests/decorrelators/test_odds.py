import numpy as np
import pytest
from scipy.special import softmax

import unsculpt as us
from unsculpt import OddsDecorrelator, SplineDecorrelator, metrics
from unsculpt.datasets import toys

pytestmark = pytest.mark.filterwarnings("ignore:protected is outside")


@pytest.fixture(scope="module")
def train():
    return toys.three_classes(4_000, 0, seed=1)


@pytest.fixture(scope="module")
def test():
    return toys.three_classes(12_000, 0, seed=2)


@pytest.fixture(scope="module")
def odds(train):
    return OddsDecorrelator().fit(train.score, train.protected)


def log_odds(scores, k):
    return np.log(scores[:, k]) - np.log(np.delete(scores, k, axis=1).sum(axis=1))


def divergence(score, mass):
    """Of the masses that pass a cut at the median of the score from those that fail."""
    edges = np.quantile(mass, np.linspace(0, 1, 9))
    passes = score > np.median(score)
    return metrics.jensen_shannon(*(np.histogram(mass[x], edges)[0] for x in (passes, ~passes)))


def test_each_probability_is_flat_and_they_sum_to_one(odds, test):
    moved = odds.transform(test.score, test.protected)
    np.testing.assert_allclose(moved.sum(axis=1), 1, atol=1e-12)
    assert moved.min() > 0
    for k in range(3):
        before, after = (divergence(x[:, k], test.protected) for x in (test.score, moved))
        assert after < before / 10


@pytest.mark.slow
def test_the_first_class_is_as_flat_as_by_itself(odds, train, test):
    """It is moved once by its own odds; what comes later moves it a little."""
    alone = SplineDecorrelator().fit(log_odds(train.score, 0), train.protected)
    first = odds.moves_[0].transform(log_odds(test.score, 0), test.protected)
    flat = alone.move(log_odds(test.score, 0), test.protected, to="barycentre")
    np.testing.assert_allclose(first, flat, atol=1e-9)


@pytest.mark.slow
def test_what_is_flat_already_stays_where_it_is():
    """Scores that do not know the mass move by no more than the noise of the fit."""
    rng = np.random.default_rng(3)
    scores, mass = softmax(rng.normal(size=(5_000, 3)), axis=1), rng.uniform(50, 200, 5_000)
    moved = OddsDecorrelator().fit(scores, mass).transform(scores, mass)
    assert np.abs(moved - scores).mean() < 0.01


@pytest.mark.slow
def test_two_classes_are_one_score(train):
    two = train.score[:, 1:] / train.score[:, 1:].sum(axis=1, keepdims=True)
    model = OddsDecorrelator().fit(two, train.protected)
    score = log_odds(two, 0)
    alone = SplineDecorrelator().fit(score, train.protected)
    moved = model.transform(two, train.protected)
    np.testing.assert_allclose(
        log_odds(moved, 0), alone.move(score, train.protected, to="barycentre"), atol=1e-9
    )
    assert np.all(np.diff(model.transform(two[np.argsort(score)], np.full(4_000, 90.0))[:, 0]) >= 0)


def test_far_beyond_the_fit_nothing_is_squeezed(odds):
    """Signal far from the background keeps its distances; probabilities near one stay so."""
    far = softmax(np.array([[0.0, 20, 0], [0, 22, 0], [0, 0, 20]]), axis=1)
    moved = np.log(odds.transform(far, np.full(3, 90.0)))
    assert (moved[1, 1] - moved[1, 0]) - (moved[0, 1] - moved[0, 0]) == pytest.approx(2, abs=0.1)
    assert list(moved.argmax(axis=1)) == [1, 1, 2]


@pytest.mark.slow
def test_on_top_of_transport_it_is_one_model(train, test, tmp_path):
    quick = us.TransportDecorrelator(members=1, epochs=3, batch_size=100)
    chain = quick.then(OddsDecorrelator()).fit(train.score, train.protected)
    moved = chain.transform(test.score, test.protected)
    rough = chain.steps[0].transform(test.score, test.protected)
    for k in range(3):
        one, other = (divergence(x[:, k], test.protected) for x in (rough, moved))
        assert other < max(one, 2e-4)
    save_and_compare(chain, test, tmp_path)


def test_a_file_holds_all_of_it(odds, test, tmp_path):
    save_and_compare(odds, test, tmp_path)
    assert odds.transform(test.score[:0], test.protected[:0]).shape == (0, 3)


def save_and_compare(model, test, folder):
    model.save(folder / "classes.unsculpt")
    loaded = us.load(folder / "classes.unsculpt")
    one, other = (x.transform(test.score, test.protected) for x in (model, loaded))
    np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_weights_are_those_of_the_events(train):
    """An event of weight zero is none, and scales do not matter."""
    some = np.arange(4_000) % 2 == 0
    half = OddsDecorrelator().fit(train.score[some], train.protected[some])
    zero = OddsDecorrelator().fit(
        train.score, train.protected, sample_weight=np.where(some, 3.0, 0.0)
    )
    one, other = (x.transform(train.score, train.protected) for x in (half, zero))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_what_is_outside_is_said_once(odds, test):
    few, mass = test.score[:2], np.array([90.0, 1e4])
    with pytest.warns(UserWarning, match="protected is outside .* in 1 of 2") as said:
        odds.transform(few, mass)
    assert len(said) == 1
    odds.outside = "nan"
    try:
        with pytest.warns(UserWarning, match="protected is outside"):
            moved = odds.transform(few, mass)
    finally:
        odds.outside = "clip"
    np.testing.assert_array_equal(np.isnan(moved), [[False] * 3, [True] * 3])


def test_bad_scores_are_named(odds, train):
    with pytest.raises(ValueError, match="rows that do not sum to one; expected the probabilities"):
        odds.transform(2 * train.score, train.protected)
    with pytest.raises(ValueError, match="rows that do not sum to one; expected the probabilities"):
        OddsDecorrelator().fit(train.score[:, 0], train.protected)
    with pytest.raises(ValueError, match="scores has 2 columns; the fit had 3"):
        odds.transform(train.score[:, :2], train.protected)
