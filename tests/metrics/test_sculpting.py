import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from unsculpt.metrics import inverse_jsd, jensen_shannon, jsd, threshold

contents = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12
).filter(lambda pairs: all(any(side) for side in zip(*pairs, strict=True)))


@given(contents, st.sampled_from([2, math.e, 10]))
def test_matches_scipy(pairs, base):
    p, q = np.array(pairs, dtype=float).T
    want = jensenshannon(p, q, base=base) ** 2
    assert jensen_shannon(p, q, base=base) == pytest.approx(want, abs=1e-12)
    assert jensen_shannon(p, q, base=base) == pytest.approx(jensen_shannon(q, p, base=base))
    assert 0 <= jensen_shannon(p, q, base=base) <= math.log(2, base) * (1 + 1e-12)


def test_by_hand():
    want = 0.5 * (1 * math.log(1 / 0.75) + 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(2))
    assert jensen_shannon([3, 0], [1, 1]) == pytest.approx(want)


def test_negative_bins_count_as_empty():
    assert jensen_shannon([3, -1, 1], [1, 2, -5]) == jensen_shannon([3, 0, 1], [1, 2, 0])


def test_tiny_contents_are_no_problem():
    assert jensen_shannon([5e-324, 1], [0, 1]) == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("window", [None, (70, 100)])
def test_jsd_matches_histograms_and_scipy(sample, window, weighted):
    scores, labels, mass, weight = sample
    weight = weight if weighted else np.ones(len(scores))
    low, high = window or (mass[labels == 0].min(), mass[labels == 0].max())
    here = (labels == 0) & (mass >= low) & (mass <= high)
    passes = scores >= threshold(scores, labels, efficiency=0.4, sample_weight=weight)
    p, q = (
        np.histogram(mass[here & side], 30, (low, high), weights=weight[here & side])[0].clip(0)
        for side in (passes, ~passes)
    )
    got = jsd(
        scores,
        labels,
        mass,
        efficiency=0.4,
        bins=30,
        window=window,
        base=2,
        sample_weight=weight if weighted else None,
    )
    assert got == pytest.approx(jensenshannon(p, q, base=2) ** 2)


def test_events_beyond_the_edges_are_left_out(sample):
    scores, labels, mass, _ = sample
    edges = np.linspace(70, 100, 11)
    assert jsd(scores, labels, mass, bins=edges) == pytest.approx(
        jsd(scores, labels, mass, bins=10, window=(70, 100))
    )


def test_inverse(sample):
    scores, labels, mass, weight = sample
    settings = {"efficiency": 0.3, "bins": 20, "base": 2, "sample_weight": weight}
    product = jsd(scores, labels, mass, **settings) * inverse_jsd(scores, labels, mass, **settings)
    assert product == pytest.approx(1)
    assert inverse_jsd([1, 3, 1, 3, 2], [0, 0, 0, 0, 1], [1, 1, 2, 2, 3], bins=2) == math.inf
