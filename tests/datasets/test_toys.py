import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from unsculpt.datasets import toys

CONTINUOUS = [toys.smooth, toys.tagger, toys.appendix_a, toys.two_attributes]


@pytest.mark.parametrize("toy", CONTINUOUS)
def test_the_cdf_is_exact_on_background(toy):
    sample = toy(20_000, 10, seed=1)
    b = sample.background
    assert kstest(sample.cdf(sample.score[b], sample.protected[b]), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("toy", CONTINUOUS)
def test_the_cdf_is_exact_in_slices_of_the_attribute(toy):
    sample = toy(20_000, 0, seed=2)
    m = sample.protected if sample.protected.ndim == 1 else sample.protected[:, 0]
    levels = sample.cdf(sample.score, sample.protected)
    for part in np.array_split(np.argsort(m, kind="stable"), 4):
        assert kstest(levels[part], "uniform").pvalue > 1e-3


def test_the_cdf_of_atoms_includes_the_whole_leaf():
    toy = toys.atoms(40_000, 0, leaves=12, seed=1)
    near = np.abs(toy.protected - 80) < 1
    for score in np.unique(toy.score):
        found = (toy.score[near] <= score).mean()
        expected = toy.cdf(np.full(near.sum(), score), toy.protected[near]).mean()
        assert found == pytest.approx(expected, abs=0.04)


def test_atoms_have_the_asked_number_of_scores():
    assert np.unique(toys.atoms(20_000, 2_000, leaves=7).score).size == 7


@pytest.mark.parametrize("toy", [*CONTINUOUS, toys.atoms])
def test_the_seed_fixes_the_events(toy):
    one, same, other = (toy(100, 50, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.score, same.score)
    np.testing.assert_array_equal(one.protected, same.protected)
    assert not np.array_equal(one.score, other.score)
    assert one.background.sum() == 100
    assert one.label.sum() == 50


@pytest.mark.parametrize("toy", [toys.tagger, toys.two_attributes, toys.atoms])
def test_masses_fall_from_50_to_300_and_the_signal_peaks_at_82(toy):
    sample = toy(20_000, 5_000)
    m = sample.protected if sample.protected.ndim == 1 else sample.protected[:, 0]
    assert m.min() >= 50
    assert m.max() <= 300
    assert np.median(m[~sample.background]) == pytest.approx(82, abs=1)
    counts, _ = np.histogram(m[sample.background], 5, (50, 300))
    assert np.all(np.diff(counts) < 0)


@pytest.mark.parametrize("toy", [toys.smooth, toys.tagger, toys.two_attributes, toys.atoms])
def test_the_score_separates_signal(toy):
    sample = toy(5_000, 5_000)
    assert roc_auc_score(sample.label, sample.score) > 0.7


def test_the_taggers_score_is_a_saturating_probability():
    score = toys.tagger(20_000, 2_000).score
    assert np.all((score >= 0) & (score <= 1))
    assert (score < 0.01).mean() > 0.1


def test_appendix_a_has_signal_above_for_one_m_and_below_for_the_other():
    toy = toys.appendix_a(2_000, 2_000)
    level = toy.cdf(toy.score, toy.protected)[~toy.background]
    m = toy.protected[~toy.background]
    assert level[m == 0].min() > 0.5
    assert level[m == 1].max() < 0.5


class TestThreeClasses:
    def test_the_undrifted_background_is_the_same_at_all_masses(self):
        toy = toys.three_classes(20_000, 0, seed=1)
        log = np.log(toy.undrifted(toy.score, toy.protected))
        for x in ((log[:, 0] - log[:, 1]), log @ [2, -1, -1], log @ [0, 1, -1]):
            x = (x - x.mean()) / x.std()
            for part in np.array_split(np.argsort(toy.protected), 4):
                assert kstest(x[part], "norm").pvalue > 1e-3

    def test_the_undrifted_probabilities_are_the_posterior(self):
        toy = toys.three_classes(20_000, 20_000, seed=2)
        exact = toy.undrifted(toy.score, toy.protected)
        for k, column in enumerate(exact.T):
            for low in (0.0, 0.2, 0.5, 0.8):
                near = (column >= low) & (column < low + 0.1)
                found = (toy.label[near] == k).mean()
                assert found == pytest.approx(column[near].mean(), abs=0.03)

    def test_any_two_classes_are_as_far_apart_as_it_says(self):
        toy = toys.three_classes(20_000, 20_000, seed=3)
        log = np.log(toy.undrifted(toy.score, toy.protected))
        for one, other in ((1, 0), (2, 0), (2, 1)):
            rows = (toy.label == one) | (toy.label == other)
            area = roc_auc_score(toy.label[rows] == one, (log[:, one] - log[:, other])[rows])
            assert area == pytest.approx(0.933, abs=0.005)

    def test_the_seed_fixes_the_events(self):
        one, same = (toys.three_classes(100, 50, seed=1) for _ in range(2))
        np.testing.assert_array_equal(one.score, same.score)
        assert np.bincount(one.label).tolist() == [100, 50, 50]
        np.testing.assert_allclose(one.score.sum(axis=1), 1)


@pytest.mark.parametrize(("mirrored", "area"), [(False, 0.952), (True, 0.976)])
def test_both_decorrelations_of_appendix_a_are_exact_and_separate_differently(mirrored, area):
    toy = toys.appendix_a(40_000, 40_000, seed=1)
    score, ratio = toys.appendix_a_decorrelated(toy, mirrored=mirrored)
    for m in (0, 1):
        background = score[toy.background & (toy.protected == m)]
        assert kstest(background, "norm").pvalue > 1e-3
    assert roc_auc_score(toy.label, ratio) == pytest.approx(area, abs=0.003)
    # No function of the score does better than the ratio of its densities.
    for other in (score, -score, np.abs(score)):
        assert roc_auc_score(toy.label, other) <= roc_auc_score(toy.label, ratio) + 1e-3
