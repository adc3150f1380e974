import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

import unsculpt as us
from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.decorrelators.common.tables import TableCDF


class Fitted(NamedTuple):
    spline: SplineDecorrelator
    train: toys.Toy
    test: toys.Toy


def fitted(toy, background, fresh=20_000, **settings):
    train, test = toy(background, 0, seed=1), toy(fresh, 0, seed=2)
    low, high = train.protected.min(axis=0), train.protected.max(axis=0)
    test.protected[:] = np.clip(test.protected, low, high)
    return Fitted(SplineDecorrelator(**settings).fit(train.score, train.protected), train, test)


@pytest.fixture(scope="module")
def smooth():
    return fitted(toys.smooth, 5_000)


@pytest.fixture(scope="module")
def tagger():
    return fitted(toys.tagger, 10_000)


@pytest.fixture(scope="module")
def two_attributes():
    return fitted(toys.two_attributes, 5_000)


@pytest.fixture(scope="module")
def atoms():
    return fitted(toys.atoms, 5_000)


@pytest.fixture(scope="module")
def category():
    return fitted(toys.appendix_a, 5_000, categorical=[0])


EVERY = ["smooth", "tagger", "two_attributes", "atoms", "category"]


def error(fit):
    test = fit.test
    found = fit.spline.transform(test.score, test.protected)
    return np.abs(found - test.cdf(test.score, test.protected)).mean()


class TestTruth:
    @pytest.mark.parametrize(
        ("name", "limit"),
        [("smooth", 0.012), ("tagger", 0.01), ("two_attributes", 0.025), ("category", 0.02)],
    )
    def test_transform_is_close_to_the_exact_cdf(self, name, limit, request):
        fit = request.getfixturevalue(name)
        rank = np.searchsorted(np.sort(fit.train.score), fit.test.score) / len(fit.train.score)
        nothing = np.abs(rank - fit.test.cdf(fit.test.score, fit.test.protected)).mean()
        assert error(fit) < min(limit, nothing / 5)

    def test_background_is_uniform_in_every_bin_of_mass(self, tagger):
        flat = tagger.spline.transform(tagger.test.score, tagger.test.protected)
        for part in np.array_split(np.argsort(tagger.test.protected), 10):
            assert kstest(flat[part], "uniform").statistic < 0.06

    @pytest.mark.parametrize("latent", ["normal", "gumbel"])
    def test_a_shift_and_a_stretch_of_any_distribution_cost_little(self, latent):
        """Two functions of the mass, whatever the noise: no freedom for each part of the score."""
        rng = np.random.default_rng(1)
        mass = rng.uniform(size=5_000)
        score = np.sin(3 * mass) + (1 + mass / 2) * getattr(rng, latent)(size=5_000)
        (members,) = SplineDecorrelator().fit(score, mass).distributions_
        assert max(member.freedom for member in members) < 25

    def test_a_bump_that_is_narrow_beside_the_range(self):
        """14 GeV in a range of 250, which twelve curves could not follow."""
        rng = np.random.default_rng(2)
        mass = rng.uniform(50, 300, 40_000)
        score = np.exp(-(((mass - 180) / 7) ** 2) / 2) + rng.normal(size=40_000)
        spline = SplineDecorrelator().fit(score, mass)
        at = np.linspace(160, 200, 41)
        kept = norm.sf(spline.threshold(0.5, at) - np.exp(-(((at - 180) / 7) ** 2) / 2))
        assert np.abs(kept - 0.5).max() < 0.05

    def test_an_attribute_that_does_not_matter_costs_little(self):
        rng = np.random.default_rng(3)
        mass, era = rng.uniform(50, 300, 5_000), rng.integers(0, 2, 5_000)
        score = mass / 100 + rng.normal(size=5_000)
        alone = SplineDecorrelator().fit(score, mass).distributions_[0]
        both = SplineDecorrelator(categorical=[1]).fit(score, np.column_stack([mass, era]))
        for one, two in zip(alone, both.distributions_[0], strict=True):
            assert two.freedom < one.freedom + 12  # twice as much with nothing in common

    def test_a_thousand_events_beat_doing_nothing_and_more_come_closer(self, tagger):
        few = fitted(toys.tagger, 1_000)
        truth = few.test.cdf(few.test.score, few.test.protected)
        rank = np.searchsorted(np.sort(few.train.score), few.test.score) / 1_000
        assert error(few) < np.abs(rank - truth).mean() / 3
        assert error(tagger) < error(few) / 2

    def test_an_atom_maps_to_the_middle_of_its_jump(self, atoms):
        score, mass = atoms.test.score, atoms.test.protected
        middle = (atoms.test.cdf(score, mass) + atoms.test.cdf(score - 1 / 11, mass)) / 2
        assert np.abs(atoms.spline.transform(score, mass) - middle).mean() < 0.013

    def test_a_heap_at_one_end_of_a_continuous_score(self):
        rng = np.random.default_rng(0)
        mass = rng.uniform(size=5_000)
        score = np.maximum(rng.normal(mass), 0)
        spline = SplineDecorrelator().fit(score, mass)
        positive = score > 0
        flat = spline.transform(score, mass)
        assert np.abs(flat - norm.cdf(score - mass))[positive].mean() < 0.015
        assert np.abs(flat - norm.cdf(-mass) / 2)[~positive].mean() < 0.015

    def test_heavy_ties(self):
        toy = toys.smooth(2_000, 0, seed=1)
        score = np.round(10 * toy.score)
        flat = SplineDecorrelator().fit(score, toy.protected).transform(score, toy.protected)
        assert np.abs(flat - toy.cdf(toy.score, toy.protected)).mean() < 0.02

    def test_a_mass_in_each_of_two_channels(self):
        rng = np.random.default_rng(1)
        table = pd.DataFrame(
            {"mass": rng.uniform(50, 150, 5_000), "channel": rng.choice(["ee", "mm"], 5_000)}
        )
        mean = np.where(table["channel"] == "ee", 1, -1) * (table["mass"] - 100) / 50
        score = rng.normal(mean)
        spline = SplineDecorrelator(categorical=["channel"]).fit(score, table)
        flat = spline.transform(score, table[["channel", "mass"]])
        assert np.abs(flat - norm.cdf(score - mean)).mean() < 0.02

    @pytest.mark.parametrize("efficiency", [0.01, 0.1, 0.5])
    def test_threshold_keeps_the_asked_fraction_at_every_mass(self, tagger, efficiency):
        score, mass = tagger.test.score, tagger.test.protected
        kept = score > tagger.spline.threshold(efficiency, mass)
        for part in np.array_split(np.argsort(mass), 8):
            spread = (efficiency * (1 - efficiency) / len(part)) ** 0.5
            assert kept[part].mean() == pytest.approx(efficiency, abs=4 * spread + 0.2 * efficiency)


class TestOrder:
    @pytest.mark.parametrize("name", EVERY)
    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_larger_scores_get_no_smaller_levels(self, name, request, data):
        fit = request.getfixturevalue(name)
        low, high = fit.train.score.min(), fit.train.score.max()
        reach = 2 * (high - low)
        scores = st.floats(low - reach, high + reach)
        score = np.sort(data.draw(st.lists(scores, min_size=2, max_size=50)))
        event = data.draw(st.integers(0, len(fit.train.score) - 1))
        here = fit.train.protected[np.full(len(score), event)]
        assert np.all(np.diff(fit.spline.transform(score, here)) >= -1e-15)

    @pytest.mark.parametrize("name", EVERY)
    def test_neighbouring_numbers_and_the_far_tails_too(self, name, request):
        fit = request.getfixturevalue(name)
        middle, span = np.median(fit.train.score), np.ptp(fit.train.score)
        near = middle + span * 1e-15 * np.arange(100_000)
        far = np.sort(np.concatenate([-np.logspace(-3, 6, 5_000), np.logspace(-3, 6, 5_000)]))
        for score in (near, middle + span * far):
            here = fit.train.protected[np.zeros(len(score), dtype=int)]
            assert np.all(np.diff(fit.spline.transform(score, here)) >= -1e-15)

    @pytest.mark.parametrize("name", EVERY)
    def test_inverse_undoes_transform(self, name, request):
        fit = request.getfixturevalue(name)
        score, protected = fit.train.score[:2_000], fit.train.protected[:2_000]
        back = fit.spline.inverse_transform(fit.spline.transform(score, protected), protected)
        np.testing.assert_allclose(back, score, atol=1e-9 * np.ptp(score))


class TestWeights:
    def test_negative_weights_take_events_away(self):
        rng = np.random.default_rng(0)
        toy = toys.smooth(3_000, 0, seed=1)
        # Junk that comes with opposite signs: what is left is the toy.
        score = np.concatenate([toy.score, rng.normal(2.0, 0.3, 2_000)])
        protected = np.concatenate([toy.protected, rng.uniform(size=2_000)])
        weight = np.repeat([1.0, 1.0, -1.0], [3_000, 1_000, 1_000])
        truth = toy.cdf(toy.score, toy.protected)

        def distance(weight):
            spline = SplineDecorrelator().fit(score, protected, sample_weight=weight)
            return np.abs(spline.transform(toy.score, toy.protected) - truth).mean()

        assert distance(weight) < min(0.02, distance(np.abs(weight)) / 3)

    def test_a_third_of_the_weights_negative_at_random(self):
        toy = toys.tagger(4_000, 0, seed=1)
        weight = np.random.default_rng(2).choice([1.0, -1.0], 4_000, p=[2 / 3, 1 / 3])
        spline = SplineDecorrelator().fit(toy.score, toy.protected, sample_weight=weight)
        flat = spline.transform(toy.score, toy.protected)
        assert np.abs(flat - toy.cdf(toy.score, toy.protected)).mean() < 0.05


class TestSymmetries:
    def test_every_score_by_itself(self):
        toy = toys.tagger(1_000, 0, seed=1)
        scores = np.column_stack([toy.score, -toy.score])
        flat, alone = (
            SplineDecorrelator().fit(x, toy.protected).transform(x, toy.protected)
            for x in (scores, toy.score)
        )
        np.testing.assert_array_equal(flat[:, 0], alone)
        np.testing.assert_allclose(flat[:, 1], 1 - alone, atol=5e-3)

    def test_one_attribute_is_a_table(self, tagger, two_attributes):
        assert isinstance(tagger.spline.cdfs_[0], TableCDF)
        assert not isinstance(two_attributes.spline.cdfs_[0], TableCDF)


@pytest.mark.slow
def test_jax_is_not_imported(tmp_path):
    code = f"""
import sys
import unsculpt as us
from unsculpt.datasets import toys
toy = toys.tagger(100, 0)
spline = us.SplineDecorrelator().fit(toy.score, toy.protected)
spline.save({str(tmp_path / "x")!r})
us.load({str(tmp_path / "x")!r}).transform(toy.score, toy.protected)
sys.exit("jax" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", ["atoms", "category"])
def test_atoms_and_categories_come_back_from_a_file(name, request, tmp_path):
    fit = request.getfixturevalue(name)
    fit.spline.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert list(loaded.categorical) == list(fit.spline.categorical)
    np.testing.assert_array_equal(
        loaded.transform(fit.test.score, fit.test.protected),
        fit.spline.transform(fit.test.score, fit.test.protected),
    )


@pytest.mark.parametrize("values", [2, 200])
def test_scores_that_do_not_scatter_at_all(values):
    """Every score at every mass: there is less noise than rounding."""
    score, mass = map(np.ravel, np.meshgrid(np.arange(float(values)), np.arange(256.0)))
    flat = us.SplineDecorrelator().fit(score, mass).transform(score, mass)
    np.testing.assert_allclose(flat, (score + 0.5) / values, atol=1e-4)


class TestReach:
    def test_a_fit_that_cannot_follow_its_events_says_so_and_where(self):
        rng = np.random.default_rng(5)
        mass = rng.uniform(0, 100, 50_000)
        # Narrow stripes between 60 and 75, and nothing elsewhere.
        stripes = 3 * np.sign(np.sin(2 * np.pi * mass / 3.3)) * ((mass > 60) & (mass < 75))
        with pytest.warns(UserWarning, match=r"does not follow .* worst at mass (6|7)\d") as record:
            spline = SplineDecorrelator().fit(rng.normal(size=len(mass)) + stripes, {"mass": mass})
        assert record[0].filename == __file__
        assert spline.p_values_ < 1e-3

    def test_one_bin_has_a_width(self, smooth):
        low, high = smooth.spline._where((7, 7)).split()[-3::2]
        assert float(low) < float(high)

    def test_a_fit_that_follows_says_nothing(self, tagger, tmp_path):
        p_value = tagger.spline.p_values_
        assert 1e-3 < p_value <= 1
        tagger.spline.save(tmp_path / "model.unsculpt")
        assert us.load(tmp_path / "model.unsculpt").p_values_ == p_value

    @pytest.mark.slow
    def test_p_values_are_not_too_small(self):
        # At least uniform, as the events of the fit judge it, whatever the weights.
        rng = np.random.default_rng(6)
        values = []
        for trial in range(20):
            mass = rng.uniform(0, 1, 8_000)
            score, weight = rng.logistic(size=8_000) + mass, rng.uniform(0.5, 1.5, 8_000)
            spline = SplineDecorrelator().fit(score, mass, sample_weight=weight)
            values.append(spline.p_values_[0])
            if trial < 3:
                small = SplineDecorrelator().fit(score, mass, sample_weight=0.01 * weight)
                assert small.p_values_[0] == pytest.approx(values[-1], rel=1e-3)
        assert np.mean(np.array(values) < 0.2) <= 0.45

    def test_few_events_and_negative_weights_cannot_tell(self, smooth):
        score, protected = smooth.train.score, smooth.train.protected
        weight = np.where(np.arange(len(score)) % 5, 1.0, -1.0)
        signed = SplineDecorrelator().fit(score, protected, sample_weight=weight)
        assert np.isnan(signed.p_values_).all()
        few = SplineDecorrelator().fit(smooth.train.score[:500], smooth.train.protected[:500])
        assert np.isnan(few.p_values_).all()

    def test_a_small_first_chunk_and_many_more(self, smooth):
        score, protected = smooth.train.score, smooth.train.protected
        order = np.lexsort([np.arange(len(score)), (protected != protected.max())])
        order = np.concatenate([[protected.argmin()], order[order != protected.argmin()]])
        spline = SplineDecorrelator().fit(score[order[:50]], protected[order[:50]])
        spline.partial_fit(score[order[50:]], protected[order[50:]])
        assert 0 <= spline.p_values_ <= 1


def test_many_categories_that_are_far_apart():
    """Their distance is no scatter, by which the penalties would forbid to follow it."""
    rng = np.random.default_rng(0)
    category = rng.integers(0, 8, 8_000)
    score = np.where(category > 0, category + rng.normal(size=8_000), rng.normal(4, 3, 8_000))
    spline = SplineDecorrelator(categorical=[0]).fit(score, category)
    flat = spline.transform(score, category)
    assert max(kstest(flat[category == c], "uniform").statistic for c in range(8)) < 0.03
    assert all(np.abs(fit.coefficients).max() > 0.1 for fit in spline.distributions_[0])
