import numpy as np
import pytest

from unsculpt.metrics import (
    auc,
    auc_in_bins,
    bin_edges,
    efficiency_in_bins,
    expected_auc,
    rejection,
    rejection_in_bins,
    threshold,
)


def test_edges():
    np.testing.assert_array_equal(bin_edges([3, 1, 2], 2), [1, 2, 3])
    np.testing.assert_array_equal(bin_edges([3, 1, 2], [0, 10]), [0, 10])
    np.testing.assert_array_equal(bin_edges([0, 1], np.int64(1)), [0, 1])


def test_a_bin_holds_its_lower_edge_and_the_last_both():
    mass = [0, 1, 1, 2, 2.5]
    labels, scores = np.ones(5), [1, 0, 1, 1, 1]
    got = efficiency_in_bins(scores, labels, mass, bins=[0, 1, 2])
    np.testing.assert_allclose(got, [1, 2 / 3])


@pytest.mark.parametrize("weighted", [False, True])
def test_each_bin_is_the_metric_of_its_events(sample, weighted):
    scores, labels, mass, weight = sample
    weight = weight if weighted else np.ones(len(scores))
    edges = np.linspace(60, 100, 6)
    cut = threshold(scores, labels, sample_weight=weight)
    settings = {"bins": edges, "sample_weight": weight}
    areas = auc_in_bins(scores, labels, mass, **settings)
    signal = efficiency_in_bins(scores, labels, mass, **settings)
    background = efficiency_in_bins(scores, labels, mass, label=0, **settings)
    for b in range(5):
        here = (mass >= edges[b]) & (mass < edges[b + 1])
        assert areas[b] == pytest.approx(
            auc(scores[here], labels[here], sample_weight=weight[here])
        )
        for label, efficiencies in ((1, signal), (0, background)):
            chosen = here & (labels == label)
            passing = weight[chosen & (scores >= cut)].sum()
            assert efficiencies[b] == pytest.approx(passing / weight[chosen].sum())
    np.testing.assert_allclose(rejection_in_bins(scores, labels, mass, **settings), 1 / background)


def test_rejection_in_a_bin_is_rejection_in_the_window(sample):
    scores, labels, mass, _ = sample
    (got,) = rejection_in_bins(scores, labels, mass, bins=[70, 100], efficiency=0.3)
    window = rejection(scores, labels, protected=mass, window=(70, 100), efficiency=0.3)
    assert got == pytest.approx(window)


def test_bins_that_lack_a_class_are_nan():
    scores, labels, mass = [0, 1, 1, 0, 2], [0, 1, 1, 0, 0], [1, 1, 3, 5, 5]
    edges = [0, 2, 4, 6, 8]
    np.testing.assert_array_equal(
        auc_in_bins(scores, labels, mass, bins=edges), [1, np.nan, np.nan, np.nan]
    )
    np.testing.assert_array_equal(
        efficiency_in_bins(scores, labels, mass, bins=edges), [1, 1, np.nan, np.nan]
    )
    np.testing.assert_array_equal(
        rejection_in_bins(scores, labels, mass, bins=edges), [np.inf, np.nan, 2, np.nan]
    )


def test_negative_passing_weight_rejects_everything():
    got = rejection_in_bins([0, 2, 1], [0, 0, 1], [1, 1, 1], bins=[0, 2], sample_weight=[2, -1, 1])
    np.testing.assert_array_equal(got, [np.inf])


def test_expected_auc_is_the_mean_under_the_signal(sample):
    scores, labels, mass, weight = sample
    edges = np.linspace(50, 300, 21)
    areas = auc_in_bins(scores, labels, mass, bins=edges, sample_weight=abs(weight))
    signal = labels == 1
    in_signal, _ = np.histogram(mass[signal], edges, weights=abs(weight)[signal])
    known = ~np.isnan(areas)
    assert 0 < known.sum() < 20
    want = (areas * in_signal)[known].sum() / in_signal[known].sum()
    got = expected_auc(scores, labels, mass, bins=edges, sample_weight=abs(weight))
    assert got == pytest.approx(want)


def test_a_score_made_of_mass_alone_separates_nothing_at_fixed_mass():
    random = np.random.default_rng(0)
    labels = np.arange(20_000) % 2
    mass = random.normal(labels)
    assert auc(mass, labels) > 0.7
    assert expected_auc(mass, labels, mass, bins=200) == pytest.approx(0.5, abs=0.02)
