import copy

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, multivariate_normal, norm

import unsculpt as us
from unsculpt import FeatureDecorrelator


def gaussians(n, seed):
    """Two correlated features whose means, widths and correlation all follow the mass."""
    rng = np.random.default_rng(seed)
    mass = rng.uniform(50, 300, n)
    t = (mass - 175) / 125
    first = 2 * t + (1 + 0.4 * t) * rng.normal(size=n)
    second = 100 - 40 * t + 10 * (0.6 + 0.3 * t) * (first - 2 * t) + 6 * rng.normal(size=n)
    return np.column_stack([first, second]), mass


def exact_log_density(features, mass):
    t = (mass - 175) / 125
    first, second = features.T
    mean = 100 - 40 * t + 10 * (0.6 + 0.3 * t) * (first - 2 * t)
    return norm.logpdf(first, 2 * t, 1 + 0.4 * t) + norm.logpdf(second, mean, 6)


@pytest.fixture(scope="session")
def pair():
    """A fit to the two features, and fresh events of the same kind within its range."""
    flow = FeatureDecorrelator(epochs=15, batch_size=256).fit(*gaussians(5_000, seed=1))
    features, mass = gaussians(10_000, seed=2)
    inside = (mass > 51) & (mass < 299)
    return flow, features[inside], mass[inside]


# Few epochs, but the number of events above: one shape is compiled once.
SETTINGS = {"epochs": 2, "batch_size": 256}


@pytest.fixture(scope="session")
def events():
    return gaussians(5_000, seed=7)


def fit(events, **settings):
    weight = settings.pop("sample_weight", None)
    return FeatureDecorrelator(**SETTINGS | settings).fit(*events, sample_weight=weight)


@pytest.fixture(scope="module")
def rough(events):
    return fit(events)


class TestDecorrelation:
    def test_the_mass_is_gone_already_after_two_epochs(self, rough, events):
        tables = events[0], rough.transform(*events)
        before, after = (np.abs(np.corrcoef(table.T, events[1])[2, :2]) for table in tables)
        assert before.min() > 0.6
        assert after.max() < 0.2

    @pytest.mark.slow
    def test_the_new_features_are_independent_standard_normal_at_every_mass(self, pair):
        flow, features, mass = pair
        latent = flow.transform(features, mass)
        fifths = np.digitize(mass, np.quantile(mass, [0.2, 0.4, 0.6, 0.8]))
        for i in range(5):
            here = latent[fifths == i]
            for column in here.T:
                assert kstest(column, "norm").statistic < 0.06
            assert abs(np.corrcoef(here.T)[0, 1]) < 0.1
        # Before, they were nothing like it.
        assert abs(np.corrcoef(features[:, 0], mass)[0, 1]) > 0.6

    @pytest.mark.slow
    def test_the_density_is_close_to_the_exact_one(self, pair):
        flow, features, mass = pair
        exact = exact_log_density(features, mass)
        assert np.mean(exact - flow.log_prob(features, mass)) == pytest.approx(0, abs=0.06)
        # A fit that ignores the mass is far from it.
        inclusive = multivariate_normal(features.mean(axis=0), np.cov(features.T))
        assert np.mean(exact - inclusive.logpdf(features)) > 0.5

    def test_the_inverse_leads_back(self, rough, events):
        features, mass = events
        latent = rough.transform(features, mass)
        np.testing.assert_allclose(rough.inverse_transform(latent, mass), features, atol=1e-8)

    @pytest.mark.slow
    def test_the_density_is_the_change_of_variables(self, pair):
        """With derivatives of `transform` by finite differences."""
        flow, features, mass = pair
        features, mass, step = features[:500], mass[:500], 1e-6
        columns = [
            (flow.transform(features + s, mass) - flow.transform(features - s, mass)) / (2 * step)
            for s in step * np.eye(2)
        ]
        _, log_volume = np.linalg.slogdet(np.stack(columns, axis=-1))
        expected = norm.logpdf(flow.transform(features, mass)).sum(axis=1) + log_volume
        # A difference across a knot of a spline sees both sides.
        assert np.quantile(np.abs(flow.log_prob(features, mass) - expected), 0.99) < 1e-4

    @pytest.mark.slow
    def test_samples_are_distributed_as_the_features(self, pair):
        flow, features, mass = pair
        drawn = flow.sample(mass, seed=3)
        t = (mass - 175) / 125
        assert kstest((drawn[:, 0] - 2 * t) / (1 + 0.4 * t), "norm").statistic < 0.04
        np.testing.assert_allclose(np.cov(drawn.T), np.cov(features.T), rtol=0.1)
        assert np.array_equal(drawn, flow.sample(mass, seed=3))
        assert not np.array_equal(drawn, flow.sample(mass, seed=4))


class TestFit:
    def test_the_unit_of_the_features_does_not_matter(self, rough, events):
        features, mass = events
        in_mev = fit((1000 * features, mass))
        np.testing.assert_allclose(
            rough.transform(features, mass), in_mev.transform(1000 * features, mass), atol=1e-3
        )

    @pytest.mark.slow
    def test_negative_weights_subtract(self, pair):
        """Background with a contamination, and the contamination again with weight -1."""
        features, mass = gaussians(4_000, seed=1)
        rng = np.random.default_rng(0)
        mess, mess_mass = (
            rng.normal([4.0, 60.0], [0.3, 3.0], (2, 500, 2)),
            rng.uniform(50, 300, (2, 500)),
        )
        everything = np.concatenate([features, *mess])
        masses = np.concatenate([mass, *mess_mass])
        weight = np.repeat([1.0, 1.0, -1.0], [4_000, 500, 500])
        flow = FeatureDecorrelator(epochs=15, batch_size=256)
        flow.fit(everything, masses, sample_weight=weight)
        _, fresh, fresh_mass = pair
        exact = exact_log_density(fresh, fresh_mass)
        assert np.mean(exact - flow.log_prob(fresh, fresh_mass)) < 0.15

    def test_paper_has_the_training_of_the_paper(self):
        parameters = FeatureDecorrelator.paper(seed=3).get_params()
        assert parameters["epochs"] == 100
        assert parameters["batch_size"] == 256
        assert parameters["learning_rate"] == 1e-3
        assert parameters["seed"] == 3

    def test_the_loss_is_kept(self, rough):
        flow = rough
        assert flow.history_["train_loss"].shape == (2,)
        assert flow.training_["events"] == 5_000
        assert flow.training_["final_loss"] == flow.history_["train_loss"][-1]


@pytest.mark.slow
def test_another_seed_gives_another_fit(rough, events):
    other = fit(events, seed=1)
    assert rough.transform(*events).tobytes() != other.transform(*events).tobytes()


def test_features_in_a_table_are_fine(rough, events):
    flow, (features, mass) = rough, events
    table = pd.DataFrame(features, columns=["d2", "tau21"])
    assert flow.transform(table, mass).tobytes() == flow.transform(features, mass).tobytes()


@pytest.mark.parametrize("method", ["log_prob", "inverse_transform"])
def test_nan_marks_the_event(rough, events, method):
    flow, (features, _) = rough, events
    flow = copy.copy(flow).set_params(outside="nan")
    with pytest.warns(UserWarning, match="they become NaN"):
        out = getattr(flow, method)(features[:2], [100.0, 1000.0])
    assert np.isfinite(out[0]).all()
    assert np.isnan(out[1]).all()


@pytest.mark.slow
def test_all_that_a_loaded_model_does_gives_the_same_bytes(pair, tmp_path):
    flow, features, mass = pair
    flow.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    for method in ("transform", "log_prob", "inverse_transform"):
        one, two = (getattr(f, method)(features[:300], mass[:300]) for f in (flow, loaded))
        assert one.tobytes() == two.tobytes()
    assert flow.sample(mass[:9]).tobytes() == loaded.sample(mass[:9]).tobytes()
    np.testing.assert_array_equal(loaded.history_["train_loss"], flow.history_["train_loss"])


def test_bad_input_to_a_fitted_one_is_named(rough, events):
    flow, (features, mass) = rough, events
    with pytest.raises(ValueError, match="features has 1 columns; the fit had 2"):
        flow.transform(features[:, 0], mass)
    with pytest.raises(ValueError, match="latent has 3 columns; the fit had 2"):
        flow.inverse_transform(np.ones((len(mass), 3)), mass)
    with pytest.raises(ValueError, match="protected has 2 events but features has 3"):
        flow.transform(features[:3], mass[:2])
    with pytest.raises(ValueError, match="labels were given, but the fit had none"):
        flow.log_prob(features[:3], mass[:3], labels=[0, 0, 1])
