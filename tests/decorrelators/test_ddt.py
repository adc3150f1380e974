import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

from unsculpt import DDTDecorrelator
from unsculpt.datasets import toys

N = 5_000


@pytest.fixture(scope="module")
def jets():
    """A score whose mean falls in a straight line with ρ."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"mass": rng.uniform(50, 200, N), "pt": rng.uniform(300, 600, N)})
    rho = np.log(table["mass"] ** 2 / table["pt"] ** 2).to_numpy()
    return 0.3 - 0.08 * rho + rng.normal(0, 0.1, N), table, rho


@pytest.fixture(scope="module")
def fitted(jets):
    score, table, _ = jets
    return DDTDecorrelator().fit(score, table)


class TestTruth:
    def test_the_slope_is_that_of_scipy(self, jets, fitted):
        score, _, rho = jets
        assert fitted.slope_[0] == pytest.approx(linregress(rho, score).slope, rel=1e-9)
        assert fitted.slope_[0] == pytest.approx(-0.08, abs=0.005)

    def test_the_mean_no_longer_moves_and_stays_where_it_was(self, jets, fitted):
        score, table, rho = jets
        after = fitted.transform(score, table)
        assert linregress(rho, after).slope == pytest.approx(0, abs=1e-12)
        assert after.mean() == pytest.approx(score.mean())

    def test_a_given_variable(self, jets):
        score, _, rho = jets
        ours = DDTDecorrelator().fit(score, rho)
        assert ours.slope_[0] == pytest.approx(linregress(rho, score).slope, rel=1e-9)

    def test_only_the_mean_is_flat(self):
        """The limit that the documentation states: the width still moves with the attribute."""
        toy = toys.smooth(N, 0, seed=1)
        toy.protected[:] = np.clip(toy.protected, 0, 0.5)  # where the mean is nearly straight
        rng = np.random.default_rng(2)
        score = rng.normal(toy.protected, 0.5 + toy.protected)
        after = DDTDecorrelator().fit(score, toy.protected).transform(score, toy.protected)
        low, high = toy.protected < 0.1, toy.protected > 0.4
        assert abs(after[low].mean() - after[high].mean()) < 0.08
        cut = np.quantile(after, 0.95)
        assert np.mean(after[high] > cut) > 2 * np.mean(after[low] > cut)

    def test_the_window_is_where_the_line_is_fitted(self, jets):
        score, table, rho = jets
        bent = score + np.where(rho > -2, 1.0, 0.0)
        ddt = DDTDecorrelator(window=(-4, -2)).fit(bent, table)
        inside = (rho >= -4) & (rho <= -2)
        expected = linregress(rho[inside], bent[inside]).slope
        assert ddt.slope_[0] == pytest.approx(expected, rel=1e-9)
        with pytest.warns(UserWarning, match="rho is outside the fitted"):
            after = ddt.transform(bent, table)
        assert np.ptp((bent - after)[rho > -2]) < 1e-12


class TestScores:
    def test_the_shift_depends_on_rho_alone(self, jets, fitted):
        score, table, rho = jets
        inside = (rho > -4.5) & (rho < -1)  # at the very edge rounding decides what is outside
        score, table = score[inside], table[inside]
        shift = score - fitted.transform(score, table)
        in_mev = score - fitted.transform(score, 1000 * table)
        np.testing.assert_allclose(shift, in_mev, atol=1e-12)

    def test_a_single_column_goes_by_its_name_too(self, jets):
        score, table, _ = jets
        one = DDTDecorrelator().fit(score, table[["mass"]])
        with pytest.raises(ValueError, match=r"no column 'mass'; it has \['pt'\]"):
            one.transform(score, table[["pt"]])

    def test_the_inverse_is_exact(self, fitted):
        dense = np.random.default_rng(0).normal(size=10_000)
        here = np.tile([80.0, 400.0], (10_000, 1))
        back = fitted.inverse_transform(fitted.transform(dense, here), here)
        np.testing.assert_allclose(back, dense, atol=1e-12)

    def test_many_scores(self, jets):
        score, table, _ = jets
        both = DDTDecorrelator().fit(np.column_stack([score, -2 * score]), table)
        np.testing.assert_allclose(both.slope_[1], -2 * both.slope_[0])

    def test_weights_of_either_sign(self, jets, fitted):
        score, table, _ = jets
        rng = np.random.default_rng(1)
        noise = rng.normal(size=N)
        ddt = DDTDecorrelator().fit(
            np.concatenate([score, noise, noise]),
            pd.concat([table] * 3),
            sample_weight=np.repeat([2.0, 1.0, -1.0], N),
        )
        assert ddt.slope_[0] == pytest.approx(fitted.slope_[0], rel=1e-9)


class TestErrors:
    def test_masses_must_be_positive(self, jets):
        score, table, _ = jets
        with pytest.raises(ValueError, match="mass is zero or negative in 1 of 5,000 events"):
            DDTDecorrelator().fit(score, table.assign(mass=[0.0, *table["mass"][1:]]))

    @pytest.mark.parametrize("window", [(1, 0), (0,), (0, np.nan)])
    def test_a_window_has_two_ends(self, jets, window):
        with pytest.raises(ValueError, match="expected \\(low, high\\)"):
            DDTDecorrelator(window=window).fit(jets[0], jets[2])

    def test_an_empty_window_says_where_the_events_are(self, jets):
        score, table, _ = jets
        with pytest.raises(ValueError, match=r"holds 0 of 5,000 events.*runs from -\d.*widen"):
            DDTDecorrelator(window=(5, 6)).fit(score, table)

    def test_too_many_columns(self, jets):
        with pytest.raises(ValueError, match="protected has 3 columns; expected mass and"):
            DDTDecorrelator().fit(jets[0], np.ones((N, 3)))
