import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestNeighbors

from unsculpt import KNNDecorrelator
from unsculpt.datasets import toys
from unsculpt.decorrelators.knn import _quantile

MASSES = np.linspace(55, 250, 40)


@pytest.fixture(scope="module")
def train():
    return toys.tagger(20_000, 0, seed=1)


@pytest.fixture(scope="module")
def fitted(train):
    return KNNDecorrelator(0.1).fit(train.score, train.protected)


@pytest.fixture(scope="module")
def channels():
    toy = toys.appendix_a(4_000, 0, seed=1)
    table = pd.DataFrame({"channel": np.where(toy.protected == 0, "ee", "mm")})
    table["pt"] = np.random.default_rng(0).uniform(20, 50, 4_000)
    return toy, table, KNNDecorrelator(0.1, categorical=["channel"]).fit(toy.score, table)


class TestTruth:
    def test_the_cut_keeps_its_fraction_at_every_mass(self, fitted, train):
        off = np.abs(1 - train.cdf(fitted.threshold(0.1, MASSES), MASSES) - 0.1)
        assert off.mean() < 0.01
        assert off.max() < 0.04
        inclusive = np.abs(1 - train.cdf(np.quantile(train.score, 0.9), MASSES) - 0.1)
        assert off.mean() < inclusive.mean() / 5

    def test_other_cuts_are_not_flat(self, fitted, train):
        """The limit that the documentation states."""
        after = fitted.transform(train.score, train.protected)
        spread = [
            np.ptp(train.cdf(np.clip(fitted.threshold(0.1, MASSES) + cut, 1e-9, 1), MASSES))
            for cut in (0, np.median(after))
        ]
        assert spread[1] > 3 * spread[0]

    def test_two_attributes(self):
        toy = toys.two_attributes(10_000, 0, seed=1)
        fresh = toys.two_attributes(2_000, 0, seed=2)
        knn = KNNDecorrelator(0.2, neighbours=500).fit(toy.score, toy.protected)
        protected = np.clip(fresh.protected, toy.protected.min(0), toy.protected.max(0))
        kept = 1 - toy.cdf(knn.threshold(0.2, protected), protected)
        inclusive = 1 - toy.cdf(np.quantile(toy.score, 0.8), protected)
        assert np.abs(kept - 0.2).mean() < 0.04
        assert np.abs(kept - 0.2).mean() < np.abs(inclusive - 0.2).mean() / 2

    def test_a_category_beside_a_number(self, channels):
        toy, table, knn = channels
        kept = knn.transform(toy.score, table) >= 0
        for channel in ("ee", "mm"):
            assert kept[table["channel"] == channel].mean() == pytest.approx(0.1, abs=0.02)

    def test_a_category_alone(self):
        toy = toys.appendix_a(2_000, 0, seed=1)
        knn = KNNDecorrelator(0.1, neighbours=900, categorical=[0]).fit(toy.score, toy.protected)
        kept = 1 - toy.cdf(knn.threshold(0.1, [0.0, 1.0]), [0.0, 1.0])
        np.testing.assert_allclose(kept, 0.1, atol=0.02)

    def test_the_cut_is_that_of_lines_of_scikit_learn(self):
        toy = toys.smooth(500, 0, seed=1)
        knn = KNNDecorrelator(0.25, neighbours=41).fit(toy.score, toy.protected)
        features, _ = knn.attributes_.features(toy.protected, "raise")
        anchors = knn.shifts_[0].anchors
        near = NearestNeighbors(n_neighbors=41).fit(features)
        rows = near.kneighbors(anchors, return_distance=False)
        # How much each neighbour counts in a line through them all, read off at the anchor.
        line = LinearRegression()
        weights = np.stack(
            [line.fit(features[own], np.eye(41)).predict(anchor[None])[0]
             for own, anchor in zip(rows, anchors, strict=True)]
        )  # fmt: skip
        levels = np.sort(toy.score[rows], axis=1)
        residual = levels[:, :, None] - toy.score[rows][:, None]
        loss = np.where(residual > 0, 0.25 * residual, -0.75 * residual) @ weights[..., None]
        np.testing.assert_array_equal(
            knn.shifts_[0].cuts, levels[np.arange(len(rows)), loss[..., 0].argmin(axis=1)]
        )

    def test_the_edge_of_the_spectrum_is_not_measured_beside_it(self):
        rng = np.random.default_rng(0)
        mass = rng.uniform(0, 1, 20_000)
        knn = KNNDecorrelator(0.5, neighbours=2_000).fit(mass + rng.normal(0, 0.1, 20_000), mass)
        # The mean of the nearest events would be 0.05 off there.
        at = np.array([0.001, 0.5, 0.999])
        np.testing.assert_allclose(knn.threshold(0.5, at), at, atol=0.02)


class TestScores:
    def test_the_order_is_exact(self, fitted):
        dense = np.sort(np.random.default_rng(0).uniform(-1, 2, 100_000))
        for mass in (51.0, 80.0, 200.0):
            assert np.all(np.diff(fitted.transform(dense, np.full(len(dense), mass))) >= 0)

    def test_zero_is_the_cut(self, fitted, train):
        score, mass = train.score[:1000], train.protected[:1000]
        after = fitted.transform(score, mass)
        np.testing.assert_array_equal(after >= 0, score >= fitted.threshold(0.1, mass))
        np.testing.assert_allclose(fitted.inverse_transform(after, mass), score, atol=1e-15)

    def test_many_scores_are_each_their_own(self, train, fitted):
        scores = np.column_stack([train.score, -train.score])
        both = KNNDecorrelator(0.1).fit(scores, train.protected)
        after = both.transform(scores, train.protected)
        np.testing.assert_array_equal(after[:, 0], fitted.transform(train.score, train.protected))
        assert both.threshold(0.1, MASSES).shape == (40, 2)


class TestWeights:
    def test_positive_weights_are_repetitions(self):
        rng = np.random.default_rng(0)
        for _ in range(100):
            values, counts = rng.normal(size=20), rng.integers(1, 4, 20)
            ours = _quantile(values, counts.astype(float), 0.7)
            repeated = np.repeat(values, counts)
            assert ours == np.quantile(repeated, 0.7, method="inverted_cdf")

    def test_negative_weights_cancel_what_they_should(self, train, fitted):
        extra = np.random.default_rng(5).uniform(0.5, 1, 20_000)
        twice = np.concatenate([train.score, extra, extra])
        weight = np.repeat([1.0, 1.0, -1.0], 20_000)
        # Three times the neighbours are then the same events.
        knn = KNNDecorrelator(0.1, neighbours=3 * fitted._neighbours(20_000, 20_000, 1))
        knn.fit(twice, np.tile(train.protected, 3), sample_weight=weight)
        off = np.abs(knn.threshold(0.1, MASSES) - fitted.threshold(0.1, MASSES))
        assert off.mean() < 0.01


@pytest.mark.slow
def test_it_does_without_jax():
    code = (
        "import sys, numpy as np, unsculpt as us; x = np.arange(50.0);"
        "us.KNNDecorrelator().fit(x, x).transform(x, x);"
        "us.DDTDecorrelator().fit(x, x).transform(x, x);"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_more_attributes_and_small_categories_have_fewer_neighbours():
    knn = KNNDecorrelator()
    assert knn._neighbours(110_000, 110_000, 1) == int(110_000**0.8 / 4)
    assert knn._neighbours(110_000, 110_000, 2) == int(110_000 ** (2 / 3) / 4)
    assert knn._neighbours(110_000, 10, 1) == 10


def test_two_attributes_are_resolved():
    """With as many neighbours as for one attribute the cut was off by 0.038."""
    toy = toys.two_attributes(40_000, 0, seed=1)
    knn = KNNDecorrelator(0.5).fit(toy.score, toy.protected)
    off = toy.cdf(knn.threshold(0.5, toy.protected), toy.protected) - 0.5
    assert np.sqrt(np.mean(off**2)) < 0.034


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"efficiency": 0}, "efficiency is 0; expected a number between 0 and 1"),
            ({"neighbours": 0}, "neighbours is 0; expected a whole number from 1 to the 100"),
            ({"neighbours": 101}, "neighbours is 101"),
        ],
    )
    def test_a_bad_parameter_is_named(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            KNNDecorrelator(**parameters).fit(np.arange(100.0), np.arange(100.0))

    def test_another_efficiency_is_not_known(self, fitted):
        with pytest.raises(ValueError, match=r"efficiency is 0\.2, but the cut was fitted at 0\.1"):
            fitted.threshold(0.2, MASSES)

    def test_weights_around_a_point_must_be_positive(self):
        x = np.arange(100.0)
        weight = np.where(x < 30, -1.0, 1.0)
        with pytest.raises(ValueError, match="weights of the 20 nearest events sum to -20"):
            KNNDecorrelator(neighbours=20).fit(x, x, sample_weight=weight)


class TestRareCategories:
    def test_a_category_is_measured_on_its_own_events(self):
        """Fewer of them than there are neighbours, and none among evenly spaced anchors."""
        rng = np.random.default_rng(0)
        rare = np.zeros(5_000, dtype=bool)
        rare[1:120:2] = True
        channel = np.where(rare, "em", "ee")
        score = rng.normal(10.0 * rare)
        knn = KNNDecorrelator(0.5, categorical=[0]).fit(score, channel)
        common, few = knn.threshold(0.5, ["ee", "em"])
        assert common == pytest.approx(np.median(score[~rare]), abs=0.3)
        assert few == pytest.approx(np.median(score[rare]), abs=0.1)

    def test_beside_a_continuous_attribute(self):
        rng = np.random.default_rng(0)
        rare = np.arange(5_000) % 500 == 1
        table = pd.DataFrame({"mass": rng.uniform(size=5_000), "rare": rare})
        knn = KNNDecorrelator(0.5, categorical=["rare"])
        knn.fit(rng.normal(10.0 * rare), table)
        cuts = knn.threshold(0.5, pd.DataFrame({"mass": [0.5, 0.5], "rare": [False, True]}))
        np.testing.assert_allclose(cuts, [0, 10], atol=1)
