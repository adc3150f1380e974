import subprocess
import sys

import numpy as np
import pytest

from unsculpt import metrics

SCORES, LABELS, MASS = [0.1, 0.9, 0.2, 0.8], [0, 0, 1, 1], [60.0, 70, 80, 90]
ON_SCORES = [metrics.threshold, metrics.rejection, metrics.auc]
ON_MASS = [
    metrics.jsd,
    metrics.inverse_jsd,
    metrics.ideal_inverse_jsd,
    metrics.working_point,
    metrics.auc_in_bins,
    metrics.expected_auc,
    metrics.rejection_in_bins,
    metrics.efficiency_in_bins,
]
FLATNESS = [metrics.kolmogorov_smirnov_in_bins, metrics.cramer_von_mises_in_bins]
AT_EFFICIENCY = [
    metrics.threshold,
    metrics.rejection,
    metrics.jsd,
    metrics.inverse_jsd,
    metrics.ideal_inverse_jsd,
    metrics.working_point,
    metrics.rejection_in_bins,
    metrics.efficiency_in_bins,
]


def call(metric, scores=SCORES, labels=LABELS, mass=MASS, **settings):
    if metric in ON_SCORES:
        return metric(scores, labels, **settings)
    if metric in FLATNESS:
        return metric(scores, mass, **settings)
    return metric(scores, labels, mass, **settings)


@pytest.mark.parametrize("metric", ON_SCORES + ON_MASS + FLATNESS)
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"scores": [0.1, np.nan, np.inf, 1]}, "scores is NaN or infinite in 2 of 4 events"),
        ({"scores": []}, "scores is empty"),
        ({"scores": [[1, 2], [3, 4]]}, r"scores has shape \(2, 2\); expected one column"),
        ({"scores": ["a", "b", "c", "d"]}, "scores holds text such as 'a'; expected numbers"),
        ({"scores": None}, "scores"),
        ({"sample_weight": [1, 2]}, "sample_weight has 2 events but the first array has 4"),
        ({"sample_weight": [1, 2, np.nan, 1]}, "sample_weight is NaN or infinite in 1 of 4"),
        ({"sample_weight": [-1, -1, -1, -1]}, "sums to -[24] over [24] events"),
    ],
)
def test_bad_columns(metric, columns, message):
    with pytest.raises(ValueError, match=message):
        call(metric, **columns)


@pytest.mark.parametrize("metric", ON_SCORES + ON_MASS)
def test_bad_labels(metric):
    with pytest.raises(ValueError, match="labels is neither 0 nor 1 in 2 of 4 events"):
        call(metric, labels=[-1, 0, 1, 2])
    with pytest.raises(ValueError, match="labels has 3 events but the first array has 4"):
        call(metric, labels=[0, 1, 1])


@pytest.mark.parametrize("metric", ON_MASS + FLATNESS)
def test_bad_mass(metric):
    with pytest.raises(ValueError, match="protected is NaN or infinite in 1 of 4 events"):
        call(metric, mass=[1, 2, 3, np.nan])
    with pytest.raises(ValueError, match="protected has 3 events but the first array has 4"):
        call(metric, mass=[1, 2, 3])
    with pytest.raises(ValueError, match=r"protected has shape \(4, 1\)"):
        call(metric, mass=np.ones((4, 1)))
    with pytest.raises(ValueError, match=r"protected is 80 in all of [24] events"):
        call(metric, mass=[80] * 4)


@pytest.mark.parametrize("metric", AT_EFFICIENCY)
@pytest.mark.parametrize("efficiency", [0, 1, -0.5, 50, np.nan])
def test_bad_efficiency(metric, efficiency):
    with pytest.raises(ValueError, match=f"efficiency is {efficiency}; expected"):
        call(metric, efficiency=efficiency)


@pytest.mark.parametrize("metric", ON_SCORES + ON_MASS)
def test_no_signal(metric):
    with pytest.raises(ValueError, match="no signal among the 4 events"):
        call(metric, labels=[0] * 4)


@pytest.mark.parametrize(
    "metric",
    [
        metric
        for metric in ON_SCORES + ON_MASS
        if metric not in (metrics.threshold, metrics.efficiency_in_bins)
    ],
)
def test_no_background(metric):
    with pytest.raises(ValueError, match="no background among the 4 events"):
        call(metric, labels=[1] * 4)
    with pytest.raises(ValueError, match="weight of the background sums to 0 over 2 events"):
        call(metric, sample_weight=[1, -1, 1, 1])


@pytest.mark.parametrize("metric", ON_MASS + FLATNESS)
@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (0, "bins is 0; expected a whole number"),
        (2.5, "bins is 2.5; expected a whole number"),
        ([1], "bins holds 1 edges"),
        ([1, 1, 2], "bins holds 3 edges, not at least two in rising order"),
        ([0, np.inf], "bins is NaN or infinite"),
    ],
)
def test_bad_bins(metric, bins, message):
    with pytest.raises(ValueError, match=message):
        call(metric, bins=bins)


@pytest.mark.parametrize("metric", [metrics.jsd, metrics.inverse_jsd, metrics.ideal_inverse_jsd])
def test_bad_windows(metric):
    with pytest.raises(ValueError, match=r"no background inside the window \[200, 300\]"):
        call(metric, window=(200, 300))
    with pytest.raises(ValueError, match=r"expected \(low, high\) with low below high"):
        call(metric, window=(100, 70))
    with pytest.raises(ValueError, match="no background that passes the cut"):
        call(metric, scores=[0.1, 0.2, 0.8, 0.9])
    with pytest.raises(ValueError, match=r"inside the window \[50, 65\] that passes the cut"):
        call(metric, window=(50, 65))
    with pytest.raises(ValueError, match="no background that fails the cut"):
        call(metric, scores=[0.8, 0.9, 0.1, 0.2])


def test_rejection_windows():
    with pytest.raises(ValueError, match="window is given without protected"):
        metrics.rejection(SCORES, LABELS, window=(70, 100))
    with pytest.raises(ValueError, match=r"no background inside the window \[200, 300\]"):
        metrics.rejection(SCORES, LABELS, protected=MASS, window=(200, 300))


def test_no_bin_with_both_classes():
    with pytest.raises(ValueError, match="none of 4 bins holds both"):
        metrics.expected_auc(SCORES, LABELS, MASS, bins=4)


def test_odd_settings():
    with pytest.raises(ValueError, match="label is 2"):
        metrics.efficiency_in_bins(SCORES, LABELS, MASS, label=2)
    with pytest.raises(ValueError, match="base is 1"):
        metrics.jensen_shannon([1, 2], [2, 1], base=1)
    with pytest.raises(ValueError, match="q has 3 events"):
        metrics.jensen_shannon([1, 2], [2, 1, 1])
    with pytest.raises(ValueError, match="p has no positive entry among 2 bins"):
        metrics.jensen_shannon([0, -2], [2, 1])
    with pytest.raises(ValueError, match="fraction is 1"):
        metrics.signal_window(MASS, fraction=1)
    with pytest.raises(ValueError, match="weight of the signal sums to 0 over 4 events"):
        metrics.signal_window(MASS, sample_weight=[1, -1, 1, -1])
    with pytest.raises(ValueError, match="repeats is 0"):
        metrics.ideal_inverse_jsd(SCORES, LABELS, MASS, repeats=0)
    with pytest.raises(ValueError, match="repeats is -1"):
        metrics.working_point(SCORES, LABELS, MASS, repeats=-1)
    with pytest.raises(ValueError, match=r"confidence is 68\.3"):
        metrics.bootstrap(metrics.auc, SCORES, LABELS, confidence=68.3)


def test_needs_numpy_alone():
    code = (
        "import sys, types; package = types.ModuleType('unsculpt');"
        f"package.__path__ = [{str(next(iter(metrics.__path__)).removesuffix('metrics'))!r}];"
        "sys.modules['unsculpt'] = package;"
        "import unsculpt.metrics;"
        "extra = {'scipy', 'sklearn', 'jax', 'pandas', 'matplotlib'} & set(sys.modules);"
        "assert not extra, extra"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
