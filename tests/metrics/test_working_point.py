import numpy as np
import pytest

from unsculpt import metrics


@pytest.mark.parametrize("window", [None, (70, 100)])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_three_metrics_at_one_cut(sample, window, weighted):
    scores, labels, mass, weight = sample
    cut = {"efficiency": 0.3, "sample_weight": weight if weighted else None, "window": window}
    point = metrics.working_point(scores, labels, mass, bins=20, repeats=30, **cut)
    assert point.rejection == metrics.rejection(scores, labels, protected=mass, **cut)
    assert point.inverse_jsd == metrics.inverse_jsd(scores, labels, mass, bins=20, **cut)
    ideal = metrics.ideal_inverse_jsd(scores, labels, mass, bins=20, repeats=30, **cut)
    assert point.ideal == ideal


@pytest.mark.parametrize("bins", [5, np.linspace(50, 300, 6)])
def test_a_few_bins_have_no_ideal(sample, bins):
    point = metrics.working_point(*sample[:3], bins=bins)
    assert np.isnan(point.ideal).all()
    assert np.isfinite(point[:2]).all()


def test_six_bins_have_one(sample):
    edges = np.linspace(50, 300, 7)
    assert np.isfinite(metrics.working_point(*sample[:3], bins=edges).ideal).all()


def test_no_random_selections_no_ideal(sample):
    assert np.isnan(metrics.working_point(*sample[:3], repeats=0).ideal).all()
