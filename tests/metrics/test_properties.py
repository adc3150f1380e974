"""What must not change a metric: order of events, weights as copies, units, maps of the score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unsculpt import metrics

EDGES = np.array([0.0, 2, 4, 6])

METRICS = {
    "threshold": lambda s, y, m, **w: metrics.threshold(s, y, **w),
    "rejection": lambda s, y, m, **w: metrics.rejection(s, y, **w),
    "rejection in a window": lambda s, y, m, **w: metrics.rejection(
        s, y, protected=m, window=(0, 4), **w
    ),
    "auc": lambda s, y, m, **w: metrics.auc(s, y, **w),
    "jsd": lambda s, y, m, **w: metrics.jsd(s, y, m, bins=EDGES, **w),
    "inverse_jsd": lambda s, y, m, **w: metrics.inverse_jsd(s, y, m, bins=EDGES, **w),
    "auc_in_bins": lambda s, y, m, **w: metrics.auc_in_bins(s, y, m, bins=EDGES, **w),
    "rejection_in_bins": lambda s, y, m, **w: metrics.rejection_in_bins(s, y, m, bins=EDGES, **w),
    "efficiency_in_bins": lambda s, y, m, **w: metrics.efficiency_in_bins(s, y, m, bins=EDGES, **w),
    "expected_auc": lambda s, y, m, **w: metrics.expected_auc(s, y, m, bins=EDGES, **w),
    "signal_window": lambda s, y, m, **w: metrics.signal_window(m, **w),
    "kolmogorov_smirnov": lambda s, y, m, **w: metrics.kolmogorov_smirnov_in_bins(
        s, m, bins=EDGES, **w
    ),
    "cramer_von_mises": lambda s, y, m, **w: metrics.cramer_von_mises_in_bins(
        s, m, bins=EDGES, **w
    ),
}

event = st.tuples(
    st.integers(-4, 4), st.integers(0, 1), st.integers(0, 6), st.sampled_from([1, 2, 3, 0])
)
# Two events of each class, one above and one below, so that every metric has what it needs.
ANCHORS = [(-5, 0, 1, 1), (5, 0, 1, 1), (-5, 1, 1, 1), (5, 1, 1, 1)]
samples = st.lists(event, max_size=25).map(lambda events: np.array(ANCHORS + events, dtype=float).T)
every_metric = pytest.mark.parametrize("name", METRICS)
light = settings(max_examples=20, deadline=None)


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@every_metric
@light
@given(samples)
def test_a_weight_is_a_number_of_copies(name, sample):
    *columns, weight = sample
    copies = [np.repeat(column, weight.astype(int)) for column in columns]
    metric = METRICS[name]
    same(metric(*columns, sample_weight=weight), metric(*copies))


@every_metric
@light
@given(samples, st.randoms(use_true_random=False))
def test_order_of_events_does_not_matter(name, sample, random):
    order = list(range(sample.shape[1]))
    random.shuffle(order)
    *columns, weight = sample
    *shuffled, shuffled_weight = sample[:, order]
    metric = METRICS[name]
    same(metric(*shuffled, sample_weight=shuffled_weight), metric(*columns, sample_weight=weight))


@every_metric
@light
@given(samples, st.lists(event, max_size=5))
def test_opposite_weights_cancel(name, sample, extra):
    *columns, weight = sample
    *more, added = np.array(extra, dtype=float).reshape(-1, 4).T
    both = [np.concatenate([column, new, new]) for column, new in zip(columns, more, strict=True)]
    metric = METRICS[name]
    got = metric(*both, sample_weight=np.concatenate([weight, added, -added]))
    same(got, metric(*columns, sample_weight=weight))


@every_metric
@light
@given(samples)
def test_the_scale_of_weights_does_not_matter(name, sample):
    *columns, weight = sample
    metric = METRICS[name]
    same(metric(*columns, sample_weight=0.3 * weight), metric(*columns, sample_weight=weight))


@pytest.mark.parametrize("name", [name for name in METRICS if name != "threshold"])
@light
@given(samples)
def test_monotone_maps_of_the_score_do_not_matter(name, sample):
    scores, labels, mass, weight = sample
    metric = METRICS[name]
    want = metric(scores, labels, mass, sample_weight=weight)
    same(metric(np.exp(scores) - 7, labels, mass, sample_weight=weight), want)


def test_units_do_not_matter(sample):
    scores, labels, mass, weight = sample
    mev = 1000 * mass

    def pair(metric, *columns, **options):
        window = options.pop("window", None)
        in_gev = {"window": window} if window else {}
        in_mev = {"window": (1000 * window[0], 1000 * window[1])} if window else {}
        first = metric(*columns, mass, sample_weight=weight, **options, **in_gev)
        second = metric(*columns, mev, sample_weight=weight, **options, **in_mev)
        same(second, first)

    for metric in (metrics.jsd, metrics.inverse_jsd):
        pair(metric, scores, labels)
        pair(metric, scores, labels, window=(70, 100))
    pair(metrics.ideal_inverse_jsd, scores, labels, window=(70, 100), repeats=5)
    for metric in (
        metrics.auc_in_bins,
        metrics.rejection_in_bins,
        metrics.efficiency_in_bins,
        metrics.expected_auc,
    ):
        pair(metric, scores, labels)
    pair(metrics.kolmogorov_smirnov_in_bins, scores)
    pair(metrics.cramer_von_mises_in_bins, scores)
    low, high = metrics.signal_window(mass)
    same(metrics.signal_window(mev), (1000 * low, 1000 * high))


def test_lists_and_narrow_types_are_welcome(sample):
    scores, labels, mass, _ = sample
    want = metrics.jsd(scores, labels, mass)
    assert metrics.jsd(scores.tolist(), labels.astype(bool), mass.tolist()) == want
    single = scores.astype(np.float32)
    assert np.mean(single[labels == 1] >= metrics.threshold(single, labels)) >= 0.5
