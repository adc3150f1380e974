from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import ks_2samp

from unsculpt.metrics import bin_edges, cramer_von_mises_in_bins, kolmogorov_smirnov_in_bins


def cdf(events, weight, points):
    return np.array([weight[events <= point].sum() for point in points]) / weight.sum()


@pytest.fixture(params=["distinct", "ties"])
def scores(sample, request):
    scores = sample.scores[:600]
    return scores if request.param == "distinct" else np.round(scores, 1)


def bins_of(mass, n):
    edges = bin_edges(mass, n)
    edges[-1] = np.nextafter(edges[-1], np.inf)
    return [(mass >= low) & (mass < high) for low, high in pairwise(edges)]


def test_kolmogorov_smirnov_matches_scipy(sample, scores):
    mass = sample.mass[:600]
    got = kolmogorov_smirnov_in_bins(scores, mass, bins=6)
    for here, distance in zip(bins_of(mass, 6), got, strict=True):
        if here.any():
            assert distance == pytest.approx(ks_2samp(scores[here], scores).statistic)
        else:
            assert np.isnan(distance)


@pytest.mark.parametrize("weighted", [False, True])
def test_cramer_von_mises_matches_its_definition(sample, scores, weighted):
    mass = sample.mass[:600]
    weight = sample.weight[:600] if weighted else np.ones(600)
    got = cramer_von_mises_in_bins(
        scores, mass, bins=[50, 70, 90, 120], sample_weight=weight if weighted else None
    )
    inclusive = cdf(scores, weight, scores)
    for low, high, distance in zip([50, 70, 90], [70, 90, 120], got, strict=True):
        here = (mass >= low) & (mass < high)
        in_bin = cdf(scores[here], weight[here], scores)
        want = (weight * (in_bin - inclusive) ** 2).sum() / weight.sum()
        assert distance == pytest.approx(want, abs=1e-12)


def test_weighted_kolmogorov_smirnov_matches_its_definition(sample, scores):
    mass, weight = sample.mass[:600], abs(sample.weight[:600])
    here = (mass >= 70) & (mass <= 90)
    got = kolmogorov_smirnov_in_bins(scores, mass, bins=[70, 90], sample_weight=weight)
    difference = cdf(scores[here], weight[here], scores) - cdf(scores, weight, scores)
    assert got == pytest.approx([abs(difference).max()])


@pytest.mark.parametrize("metric", [kolmogorov_smirnov_in_bins, cramer_von_mises_in_bins])
def test_one_bin_is_flat_and_an_empty_bin_is_nan(sample, metric):
    assert metric(sample.scores, sample.mass, bins=1) == pytest.approx([0], abs=1e-12)
    got = metric(sample.scores, sample.mass, bins=[0, 1, 2000])
    assert np.isnan(got[0])
    assert got[1] == pytest.approx(0, abs=1e-12)


def test_flat_and_sculpting_scores_differ():
    random = np.random.default_rng(0)
    mass, flat = random.random(10_000), random.random(10_000)
    assert kolmogorov_smirnov_in_bins(flat, mass).max() < 0.12
    assert kolmogorov_smirnov_in_bins(flat + mass, mass).max() > 0.3
    # 1/(6 n) is the expectation for n independent events.
    assert cramer_von_mises_in_bins(flat, mass).mean() == pytest.approx(1 / 3000, rel=0.7)
    assert cramer_von_mises_in_bins(flat + mass, mass).max() > 0.05
