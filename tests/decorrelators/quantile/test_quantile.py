import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt import QuantileDecorrelator
from unsculpt.datasets import toys

QUANTILES = np.array([0.5, 0.9, 0.95, 0.99])
MASSES = np.linspace(55, 250, 40)


@pytest.fixture(scope="module")
def train():
    return toys.tagger(20_000, 0, seed=1)


@pytest.fixture(scope="module")
def test():
    toy = toys.tagger(20_000, 0, seed=2)
    return toy.score, np.clip(toy.protected, 51, 270)


@pytest.fixture(scope="module")
def fitted(train):
    return QuantileDecorrelator(members=2).fit(train.score, train.protected)


@pytest.fixture(scope="module")
def pairs():
    """Two attributes and two scores of the same events, the second the first reversed."""
    toy = toys.two_attributes(2_000, 0, seed=1)
    scores = np.column_stack([toy.score, 1 - toy.score])
    return toy, scores, quick(quantiles=[0.1, 0.3, 0.5, 0.9], epochs=8).fit(scores, toy.protected)


@pytest.fixture(scope="module")
def few():
    """As many as other quick fits have: one shape, compiled once."""
    return toys.tagger(2_000, 0, seed=3)


def quick(**parameters):
    return QuantileDecorrelator(**{"members": 2, "epochs": 2, "batch_size": 64} | parameters)


@pytest.fixture(scope="module")
def channels():
    """Background that differs between two channels, and a number that it does not follow."""
    toy = toys.appendix_a(2_000, 0, seed=1)
    channel = np.where(toy.protected == 0, "ee", "mm")
    table = pd.DataFrame({"pt": np.random.default_rng(0).uniform(20, 50, 2_000)})
    table["channel"] = channel
    return toy, table, quick(categorical=["channel"], epochs=10).fit(toy.score, table)


def cover(model, toy, protected=MASSES, truth=None):
    """The exact fraction of background below each threshold."""
    at = protected if truth is None else truth
    return np.column_stack([toy.cdf(cut, at) for cut in model.thresholds(protected).T])


class TestTruth:
    def test_the_thresholds_keep_their_fractions_at_every_mass(self, fitted, train):
        off = np.abs(cover(fitted, train) - QUANTILES)
        assert np.all(off.mean(axis=0) < [0.02, 0.01, 0.006, 0.002])
        assert np.all(off.max(axis=0) < [0.06, 0.03, 0.02, 0.006])
        inclusive = train.cdf(np.quantile(train.score, QUANTILES)[:, None], MASSES).T
        assert np.all(off.mean(axis=0) < np.abs(inclusive - QUANTILES).mean(axis=0) / 5)

    def test_better_than_quantiles_in_bins(self, fitted, train):
        """NumPy's quantiles in 20 bins of equal population: steps in mass, noise in each."""
        order = np.argsort(train.protected)
        cuts = [np.quantile(part, QUANTILES) for part in np.split(train.score[order], 20)]
        here = np.searchsorted(train.protected[order[1000::1000]], MASSES)
        theirs = np.abs(train.cdf(np.array(cuts)[here].T, MASSES).T - QUANTILES).mean(axis=0)
        assert np.all(np.abs(cover(fitted, train) - QUANTILES).mean(axis=0) < theirs)

    @pytest.mark.slow
    def test_the_spline_comes_near_the_whole_distribution(self, train, test):
        model = QuantileDecorrelator([0.05, 0.2, 0.5, 0.9], continuous=True, members=4)
        score, mass = test
        off = model.fit(train.score, train.protected).transform(score, mass) - train.cdf(
            score, mass
        )
        assert np.abs(off).mean() < 0.02

    @pytest.mark.slow
    def test_the_paper_settings_learn_in_a_few_epochs(self):
        toy = toys.smooth(5_000, 0, seed=1)
        model = QuantileDecorrelator.paper(epochs=10).fit(toy.score, toy.protected)
        at = np.linspace(0.05, 0.95, 19)
        off = np.abs(cover(model, toy, at) - QUANTILES).mean(axis=0)
        inclusive = toy.cdf(np.quantile(toy.score, QUANTILES)[:, None], at).T
        assert np.all(off[:3] < np.abs(inclusive - QUANTILES).mean(axis=0)[:3] / 2)

    def test_two_attributes(self, pairs):
        toy, _, model = pairs
        cut = model.thresholds(toy.protected)[:, 0]
        below = toy.cdf(cut.T, toy.protected)
        assert np.all(
            np.abs(below - [[0.1], [0.3], [0.5], [0.9]]).mean(axis=1) < [0.04, 0.08, 0.08, 0.04]
        )

    def test_a_category(self, channels):
        toy, _, model = channels
        table = pd.DataFrame({"pt": np.full(4, 35.0), "channel": ["ee", "ee", "mm", "mm"]})
        off = cover(model, toy, table, np.array([0.0, 0, 1, 1])) - QUANTILES
        assert np.abs(off).max() < 0.06

    def test_scores_with_atoms(self):
        toy = toys.atoms(2_000, 0, seed=1)
        model = quick(epochs=8).fit(toy.score, toy.protected)
        kept = model.select(toy.score, toy.protected, 0.9).mean()
        assert 0.05 < kept < 0.3  # a whole leaf passes or fails


class TestOrder:
    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))]
    )
    def test_quantiles_never_cross_even_untrained_and_outside(self, seed):
        toy = toys.tagger(100, 0, seed=seed)
        quantiles = np.linspace(0.05, 0.95, 19)
        model = quick(quantiles=quantiles, learning_rate=1.0, seed=seed, outside="clip")
        cuts = model.fit(toy.score, toy.protected).thresholds(toy.protected)
        assert np.all(np.diff(cuts) >= 0)
        assert cuts.min() >= toy.score.min()
        assert cuts.max() <= toy.score.max()

    def test_a_higher_score_never_gets_a_lower_level_between_quantiles_too(self, fitted, train):
        model = clone(fitted).set_params(continuous=True)
        model.__dict__ |= {k: v for k, v in vars(fitted).items() if k.endswith("_")}
        dense = np.sort(np.concatenate([np.linspace(-1, 2, 100_000), train.score]))
        for mass in (51.0, 80.0, 250.0):
            levels = model.transform(dense, np.full(len(dense), mass))
            assert np.diff(levels).min() >= -1e-7
            assert levels.min() >= 0
            assert levels.max() <= 1

    def test_order_with_two_attributes(self, pairs):
        toy, _, model = pairs
        model.set_params(continuous=True)
        dense = np.repeat(np.linspace(-1, 2, 5_000)[:, None], 2, axis=1)
        levels = model.transform(dense, np.tile(toy.protected[:1], (5_000, 1)))
        model.set_params(continuous=False)
        assert np.diff(levels, axis=0).min() >= -1e-7


class TestMethods:
    def test_the_level_is_the_highest_quantile_passed(self, fitted, test):
        score, mass = test
        cuts, levels = fitted.thresholds(mass), fitted.transform(score, mass)
        expected = np.array([0, *QUANTILES])[(score[:, None] >= cuts).sum(axis=1)]
        np.testing.assert_array_equal(levels, expected)
        for i, quantile in enumerate(QUANTILES):
            chosen = fitted.select(score, mass, quantile)
            np.testing.assert_array_equal(chosen, score >= cuts[:, i])
            assert chosen.dtype == bool

    def test_threshold_is_the_cut_of_the_complement(self, fitted):
        cuts = fitted.thresholds(MASSES)
        np.testing.assert_array_equal(fitted.threshold(0.05, MASSES), cuts[:, 2])
        fitted.set_params(continuous=True)
        np.testing.assert_allclose(fitted.threshold(0.05, MASSES), cuts[:, 2], rtol=1e-6)
        between = fitted.threshold(0.07, MASSES)
        fitted.set_params(continuous=False)
        assert np.all((between > cuts[:, 1]) & (between < cuts[:, 2]))

    def test_the_spline_inverts(self, fitted, test):
        score, mass = test
        fitted.set_params(continuous=True)
        back = fitted.inverse_transform(fitted.transform(score, mass), mass)
        fitted.set_params(continuous=False)
        np.testing.assert_allclose(back, score, atol=1e-6)

    def test_many_scores_are_each_their_own(self, pairs):
        toy, scores, model = pairs
        assert model.thresholds(toy.protected).shape == (2_000, 2, 4)
        assert model.transform(scores, toy.protected).shape == (2_000, 2)
        assert model.threshold(0.5, toy.protected).shape == (2_000, 2)
        kept = model.select(scores, toy.protected, 0.9).mean(axis=0)
        np.testing.assert_allclose(kept, 0.1, atol=0.04)
        assert model.coverage(scores, toy.protected, bins=3).fraction.shape == (3, 2, 4)

    def test_coverage_counts_what_lies_below(self, fitted, test):
        score, mass = test
        edges = np.array([51, 75, 100, 270.0])
        table = fitted.coverage(score, mass, bins=edges)
        assert table.bins == ["51 to 75", "75 to 100", "100 to 270"]
        below = score[:, None] < fitted.thresholds(mass)
        for row, (low, high) in zip(table.fraction, [(51, 75), (75, 100), (100, 271)], strict=True):
            np.testing.assert_allclose(row, below[(mass >= low) & (mass < high)].mean(axis=0))
        n = np.histogram(mass, edges)[0][:, None]
        binomial = np.sqrt(table.fraction * (1 - table.fraction) / n)
        np.testing.assert_allclose(table.error, binomial)
        assert np.all(np.abs(table.fraction - QUANTILES) < [0.05, 0.03, 0.02, 0.008])
        assert str(table).splitlines()[0].split() == ["0.5", "0.9", "0.95", "0.99"]
        assert len(str(table).splitlines()) == 4

    def test_coverage_leaves_out_what_is_marked(self, fitted, test):
        score, mass = test
        want = fitted.coverage(score, mass, bins=[50, 100, 300])
        marking = clone(fitted)
        marking.__dict__ |= {name: x for name, x in vars(fitted).items() if name[-1] == "_"}
        marking.set_params(outside="nan")
        with pytest.warns(UserWarning, match="outside the fitted"):
            found = marking.coverage(
                np.append(score, score), np.append(mass, mass + 1e3), bins=[50, 100, 300, 2000]
            )
        np.testing.assert_array_equal(found.fraction[:2], want.fraction)
        assert np.isnan(found.fraction[2]).all()

    def test_coverage_by_a_named_category(self, channels):
        toy, table, model = channels
        assert model.coverage(toy.score, table, attribute="channel").bins == ["ee", "mm"]
        assert len(model.coverage(toy.score, table[["channel", "pt"]], bins=4).bins) == 4
        with pytest.raises(ValueError, match="attribute is 'eta'; the protected columns are"):
            model.coverage(toy.score, table, attribute="eta")


class TestWeights:
    @pytest.mark.slow
    def test_negative_weights_cancel_what_they_should(self, train):
        """Events above 0.5 added with weight 1 and again with weight -1 leave no trace."""
        rng = np.random.default_rng(5)
        extra = rng.uniform(0.5, 1, 4_000)
        mass = rng.choice(train.protected, 4_000)
        # As many as in `train`, so that nothing is compiled anew.
        score = np.concatenate([train.score[:12_000], extra, extra])
        protected = np.concatenate([train.protected[:12_000], mass, mass])
        weight = np.repeat([1.0, 1.0, -1.0], [12_000, 4_000, 4_000])
        model = QuantileDecorrelator(members=4).fit(score, protected, sample_weight=weight)
        off = np.abs(cover(model, train) - QUANTILES).mean(axis=0)
        assert np.all(off < [0.03, 0.02, 0.012, 0.005])

    def test_weights_move_the_thresholds(self):
        rng = np.random.default_rng(0)
        mass, score = rng.uniform(0, 1, 2_000), rng.uniform(0, 1, 2_000)
        model = quick(epochs=8).fit(score, mass, sample_weight=score)
        # Density 2s on [0, 1]: the quantiles are square roots.
        np.testing.assert_allclose(model.thresholds([0.3, 0.6]), [QUANTILES**0.5] * 2, atol=0.03)


class TestFiles:
    @pytest.mark.parametrize("recipe", ["smooth", pytest.param("paper", marks=pytest.mark.slow)])
    def test_what_was_fitted_is_in_the_file_whatever_was_set_since(self, few, recipe, tmp_path):
        toy = few
        model = quick(recipe=recipe).fit(toy.score, toy.protected)
        model.set_params(recipe="smooth", quantiles=[0.3]).save(tmp_path / "model")
        loaded = us.load(tmp_path / "model")
        for continuous in (False, True):
            one, two = (
                m.set_params(continuous=continuous).transform(toy.score, toy.protected)
                for m in (model, loaded)
            )
            assert one.tobytes() == two.tobytes()
        np.testing.assert_array_equal(loaded.history_["train_loss"], model.history_["train_loss"])

    def test_an_array_of_quantiles_is_kept(self, few, tmp_path):
        model = quick(quantiles=QUANTILES).fit(few.score, few.protected)
        model.save(tmp_path / "model")
        assert us.load(tmp_path / "model").quantiles == QUANTILES.tolist()

    def test_many_scores_and_attributes_come_back(self, pairs, tmp_path):
        toy, _, model = pairs
        model.save(tmp_path / "model")
        loaded = us.load(tmp_path / "model")
        assert (
            loaded.thresholds(toy.protected).tobytes() == model.thresholds(toy.protected).tobytes()
        )


@pytest.mark.slow
def test_another_seed_gives_another_fit(few):
    one, other = (quick(seed=seed).fit(few.score, few.protected) for seed in (0, 1))
    assert not np.array_equal(one.thresholds(few.protected), other.thresholds(few.protected))


def test_what_is_outside_is_marked_and_not_selected(fitted):
    marking = copy.copy(fitted).set_params(outside="nan")
    with pytest.warns(UserWarning, match="become NaN"):
        marked = marking.thresholds([10.0, 80.0])
    np.testing.assert_array_equal(np.isnan(marked[:, 0]), [True, False])
    with pytest.warns(UserWarning, match="become NaN"):
        assert marking.select([1.0, 1.0], [10.0, 80.0], 0.5).tolist() == [False, True]


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"quantiles": []}, "expected numbers between 0 and 1"),
            ({"quantiles": [0.5, 1.0]}, "expected numbers between 0 and 1"),
            ({"quantiles": [0.5, np.nan]}, "expected numbers between 0 and 1"),
            ({"quantiles": [0.9, 0.5]}, "expected rising numbers, each once"),
            ({"quantiles": [0.5, 0.5]}, "expected rising numbers, each once"),
            ({"members": 0}, "members is 0; expected a whole number of at least 1"),
            ({"recipe": "secret"}, "recipe is 'secret'; expected 'smooth' or 'paper'"),
        ],
    )
    def test_a_bad_parameter_is_named(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            QuantileDecorrelator(**parameters).fit(np.arange(30.0), np.arange(30.0))

    def test_a_quantile_that_was_not_fitted(self, fitted, test):
        for call in (lambda: fitted.select(*test, 0.8), lambda: fitted.threshold(0.2, MASSES)):
            with pytest.raises(
                ValueError, match=r"the quantile 0\.8 was not fitted, but 0\.5, 0\.9"
            ):
                call()

    def test_levels_have_no_inverse(self, fitted):
        with pytest.raises(ValueError, match="many scores share a level"):
            fitted.inverse_transform([0.5], [80.0])

    def test_before_the_fit(self):
        for call in ("thresholds", "threshold", "select"):
            arguments = {"thresholds": ([1],), "threshold": (0.1, [1]), "select": ([1], [1], 0.5)}
            with pytest.raises(NotFittedError):
                getattr(QuantileDecorrelator(), call)(*arguments[call])
