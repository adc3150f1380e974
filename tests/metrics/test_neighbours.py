"""The measure of hep_ml, held against hep_ml."""

import numpy as np
import pytest

from unsculpt.metrics import cramer_von_mises_among_neighbours


def by_definition(scores, places, weight, neighbours):
    total = 0.0
    near = [np.argsort(np.abs(places - x), kind="stable")[:neighbours] for x in places]
    often = np.bincount(np.concatenate(near), minlength=len(scores))

    def cdf(values, own, x):
        return (own[values < x].sum() + own[values <= x].sum()) / 2 / own.sum()

    counts = []
    for group in near:
        off = [cdf(scores[group], weight[group], x) - cdf(scores, weight, x) for x in scores]
        counts.append((weight[group] / often[group]).sum())
        total += counts[-1] * np.average(np.square(off), weights=weight)
    return total / sum(counts)


@pytest.mark.parametrize("ties", [False, True])
def test_it_is_its_definition(ties):
    random = np.random.default_rng(3)
    places, weight = random.exponential(50, 60), random.uniform(0.5, 2, 60)
    scores = random.integers(5, size=60) if ties else random.random(60)
    found = cramer_von_mises_among_neighbours(scores, places, neighbours=7, sample_weight=weight)
    expected = by_definition(scores.astype(float), places, weight, 7)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("attributes", [1, 2])
def test_it_is_that_of_hep_ml(attributes):
    metrics = pytest.importorskip("hep_ml.metrics")
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(1)
    places, weight = random.normal(size=(800, attributes)), random.uniform(0.5, 2, 800)
    scores = np.round(random.random(800) + 0.2 * places[:, 0], 2)
    table = pandas.DataFrame(places, columns=[f"x{i}" for i in range(attributes)])
    theirs = metrics.KnnBasedCvM(list(table), uniform_label=1, n_neighbours=30)
    theirs.fit(table, np.ones(800), sample_weight=weight.copy())
    expected = theirs(np.ones(800), np.column_stack([scores, scores]), weight.copy())
    found = cramer_von_mises_among_neighbours(scores, places, neighbours=30, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-9)


def test_more_neighbours_than_events_are_refused():
    with pytest.raises(ValueError, match="neighbours is 50, but there are 3 events"):
        cramer_von_mises_among_neighbours([0.1, 0.2, 0.3], [1, 2, 3])


def test_an_offset_of_the_attribute_changes_nothing():
    random = np.random.default_rng(1)
    time = random.uniform(0, 10, 1000)
    scores = random.random(1000) + 0.1 * time
    here, later = (cramer_von_mises_among_neighbours(scores, time + x) for x in (0, 1.7e9))
    assert later == pytest.approx(here, rel=1e-3)


def test_negative_weights_are_refused():
    weight = np.array([1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="negative in 1 of 3 events"):
        cramer_von_mises_among_neighbours([1, 2, 3], [1, 2, 3], neighbours=2, sample_weight=weight)
