"""A base by class: the paper's appendix A, and more features and classes than it has."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

import unsculpt as us
from unsculpt import FeatureDecorrelator, metrics
from unsculpt.datasets import toys
from unsculpt.decorrelators.feature.coordinates import FeatureCoordinates, base_of

SETTINGS = {"epochs": 20, "batch_size": 256, "categorical": [0]}


def likelihood_ratio_auc(feature, label):
    """What the best discriminant of one feature can do, from fine histograms."""
    edges = np.linspace(-5, 5, 101)
    densities = [np.histogram(feature[label == c], edges, density=True)[0] for c in (0, 1)]
    ratio = densities[1] / (densities[0] + 1e-3)
    place = np.clip(np.searchsorted(edges, feature) - 1, 0, len(ratio) - 1)
    return metrics.auc(ratio[place], label)


@pytest.fixture(scope="session")
def train():
    return toys.appendix_a(2_500, 2_500, seed=1)


@pytest.fixture(scope="session")
def test():
    return toys.appendix_a(10_000, 10_000, seed=2)


@pytest.fixture(scope="session")
def plain(train):
    background = train.background
    return FeatureDecorrelator(**SETTINGS).fit(train.score[background], train.protected[background])


@pytest.fixture(scope="session")
def by_class(train):
    return FeatureDecorrelator(**SETTINGS).fit(train.score, train.protected, labels=train.label)


def flat(flow, toy):
    """How far the background is from one distribution in both categories."""
    latent = flow.transform(toy.score, toy.protected)[toy.background]
    return max(kstest(latent[toy.protected[toy.background] == m], "norm").statistic for m in (0, 1))


@pytest.mark.slow
def test_without_labels_features_keep_their_direction(plain, test):
    latent = plain.transform(test.score, test.protected)
    background = test.background
    exact = (test.score + 10 * test.protected)[background]  # the paper's f1
    assert np.abs(latent[background] - exact).mean() < 0.1
    assert flat(plain, test) < 0.05


@pytest.mark.slow
def test_a_feature_mirrored_in_one_category_fits_as_well_and_separates_better(plain, train, test):
    def mirrored(toy):
        return np.where(toy.protected == 1, -toy.score, toy.score)

    b = train.background
    other = FeatureDecorrelator(**SETTINGS).fit(mirrored(train)[b], train.protected[b])
    b = test.background
    one = plain.log_prob(test.score[b], test.protected[b]).mean()
    two = other.log_prob(mirrored(test)[b], test.protected[b]).mean()
    assert one == pytest.approx(two, abs=0.03)
    bad = likelihood_ratio_auc(plain.transform(test.score, test.protected), test.label)
    good = likelihood_ratio_auc(other.transform(mirrored(test), test.protected), test.label)
    assert good > bad + 0.02


@pytest.mark.slow
def test_with_labels_signal_stays_together(by_class, test):
    latent = by_class.transform(test.score, test.protected)
    signal = test.label == 1
    one, two = (latent[signal & (test.protected == m)] for m in (0, 1))
    assert one.mean() == pytest.approx(two.mean(), abs=0.1)
    assert one.std() == pytest.approx(two.std(), abs=0.05)
    assert flat(by_class, test) < 0.05


@pytest.mark.slow
def test_with_labels_the_inverse_leads_back(by_class, test):
    latent = by_class.transform(test.score, test.protected)
    back = by_class.inverse_transform(latent, test.protected)
    np.testing.assert_allclose(back, test.score, atol=1e-8)


@pytest.mark.slow
def test_each_class_has_its_density_and_samples(by_class, test):
    m = test.protected
    exact = np.where(
        test.label == 1,
        norm.logpdf(test.score, np.where(m == 0, 2, -12), 0.3),
        norm.logpdf(test.score, -10 * m, 1),
    )
    found = by_class.log_prob(test.score, m, labels=test.label)
    for c in (0, 1):
        assert np.mean((exact - found)[test.label == c]) == pytest.approx(0, abs=0.05)
    drawn = by_class.sample(m, labels=test.label)
    for c, category, mean, width in [(0, 0, 0, 1), (1, 0, 2, 0.3), (1, 1, -12, 0.3)]:
        here = drawn[(test.label == c) & (m == category)]
        assert here.mean() == pytest.approx(mean, abs=0.1)
        assert here.std() == pytest.approx(width, abs=0.1)
    background = by_class.log_prob(test.score, m)
    assert np.array_equal(background[test.label == 0], found[test.label == 0])


@pytest.mark.slow
def test_a_model_with_classes_comes_back_from_its_file(by_class, test, tmp_path):
    by_class.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert loaded.classes_ == [0, 1]
    few = test.score[-100:], test.protected[-100:]
    for one, two in [
        (by_class.transform(*few), loaded.transform(*few)),
        (by_class.log_prob(*few, labels=np.ones(100)), loaded.log_prob(*few, labels=np.ones(100))),
    ]:
        assert one.tobytes() == two.tobytes()


class TestDirections:
    """Which features are mirrored where, by hand."""

    def setup_method(self):
        self.category = np.repeat([0, 1, 2], 400)
        self.signal = np.tile([0.0, 1.0], 600)
        rng = np.random.default_rng(0)
        # Signal above background in the first feature but for category 1, below in the second.
        first = self.signal * np.where(self.category == 1, -1, 1)
        self.columns = np.column_stack([first, -self.signal]) + rng.normal(0, 0.3, (1200, 2))

    def coordinates(self, signal=None, weight=None):
        signal = self.signal if signal is None else signal
        weight = np.ones(1200) if weight is None else weight
        return FeatureCoordinates.measure(self.columns, self.category, 4, signal > 0, weight)

    def test_signal_comes_to_lie_above_background_in_every_category(self):
        found = self.coordinates()
        np.testing.assert_array_equal(found.signs, [[1, -1], [-1, -1], [1, -1], [1, 1]])
        x = found(self.columns, self.category)
        for i in range(3):
            here = self.category == i
            above = x[here & (self.signal == 1)].mean(0) - x[here & (self.signal == 0)].mean(0)
            assert np.all(above > 0)

    def test_without_signal_nothing_is_mirrored(self):
        assert np.all(self.coordinates(signal=np.zeros(1200)).signs == 1)

    def test_weights_count(self):
        """A half of the events turned around, and that half taken out by weight."""
        self.columns[::3] *= -5
        weight = np.ones(1200)
        weight[::3] = 0
        np.testing.assert_array_equal(
            self.coordinates(weight=weight).signs[:3], [[1, -1], [-1, -1], [1, -1]]
        )

    def test_the_inverse_leads_back(self):
        found = self.coordinates()
        x = found(self.columns, self.category)
        np.testing.assert_allclose(found.inverse(x, self.category), self.columns)

    def test_a_combination_without_events_has_the_scale_of_all(self):
        found = self.coordinates()
        background = self.columns[self.signal == 0]
        np.testing.assert_allclose(found.mean[3], background.mean(axis=0))
        np.testing.assert_allclose(found.width[3], background.std(axis=0))

    def test_background_is_standard_and_the_base_starts_where_the_signal_is(self):
        x = self.coordinates()(self.columns, self.category)
        for i in range(3):
            background = x[(self.category == i) & (self.signal == 0)]
            np.testing.assert_allclose(background.mean(axis=0), 0, atol=1e-9)
            np.testing.assert_allclose(background.std(axis=0), 1)
        means, log_widths = base_of(x, self.signal.astype(np.int32))
        np.testing.assert_allclose(means, [[1 / 0.3, 1 / 0.3]], rtol=0.1)
        np.testing.assert_allclose(log_widths, 0, atol=0.1)


def test_labels_that_do_not_fit_are_named(train, test):
    by_class = FeatureDecorrelator(**SETTINGS | {"epochs": 1})
    by_class.fit(train.score, train.protected, labels=train.label)
    few = test.score[:3], test.protected[:3]
    with pytest.raises(ValueError, match=r"labels has 2 events of a class .* not among \[0, 1\]"):
        by_class.log_prob(*few, labels=[0, 2, 5])
    with pytest.raises(ValueError, match="labels has 2 events but features has 3"):
        by_class.sample(few[1], labels=[0, 1])
    with pytest.raises(ValueError, match=r"labels has shape \(\); expected \(n,\)"):
        by_class.sample(few[1], labels=1)
    with pytest.raises(ValueError, match=r"labels is missing .* in 2 of 3 events"):
        by_class.log_prob(*few, labels=[0, np.nan, np.nan])
