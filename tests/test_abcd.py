"""Counts in four regions, held against toys whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from unsculpt import SplineDecorrelator, abcd

CUTS = (1.0, 0.8)


def toy(seed, events=20_000):
    """Two scores that know of each other, and the second made independent by its exact CDF."""
    from scipy.stats import norm

    rng = np.random.default_rng(seed)
    first, noise = rng.normal(size=(2, events))
    second = np.tanh(first) + (1 + 0.3 * np.sin(first)) * noise
    exact = norm.cdf(noise)
    return first, second, exact


def test_regions_by_hand():
    first, second = [1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0, 0]
    found = abcd.closure(first, second, (0.5, 0.5), sample_weight=[2, 1, 1, 1, 1, 1, -1])
    assert found.sums.tolist() == [3, 1, 1, 1]
    assert found.variances.tolist() == [5, 1, 1, 3]
    assert found.predicted == 1
    assert found.predicted_error == pytest.approx(np.sqrt(1 + 1 + 3))
    assert found.ratio == 3
    # A's own error is that of one predicted event, with A's weights.
    assert found.pull == pytest.approx(2 / np.sqrt(5 / 3 + 5))


def test_independent_scores_close_within_their_error():
    pulls = [abcd.closure(*toy(seed)[::2], CUTS).pull for seed in range(100)]
    assert 55 <= np.sum(np.abs(pulls) < 1) <= 81  # 68 expected, with an error of 4.7
    assert np.std(pulls) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("sign", [0.0, 0.1])  # of the weights, how many are negative
def test_few_events_in_a_are_no_sign_of_anything(sign):
    """Two are expected in A. With its own error one draw in eight was three errors off."""
    rng = np.random.default_rng(1)
    pulls = []
    for _ in range(300):
        first, second, which = rng.uniform(size=(3, 10_000))
        weight = np.where(which < sign, -1, 1)
        pulls.append(abcd.closure(first, second, (0.98, 0.99), sample_weight=weight).pull)
    assert np.std(pulls) == pytest.approx(1, abs=0.15)
    assert np.mean(np.abs(pulls) > 3) < 0.03


def test_none_in_a_have_the_error_of_the_prediction():
    found = abcd.Regions(np.array([0.0, 20, 10, 100]), np.array([0.0, 20, 10, 100]))
    assert found.observed_error == pytest.approx(np.sqrt(2))
    assert found.ratio == 0
    assert found.ratio_error == pytest.approx(np.sqrt(2) / 2)


def test_raw_scores_do_not():
    pulls = [abcd.closure(*toy(seed)[:2], CUTS).pull for seed in range(20)]
    assert np.min(np.abs(pulls)) > 5


@pytest.mark.filterwarnings("ignore:protected is outside")
def test_a_fitted_map_closes_within_its_error():
    first, second, _ = toy(1, 20_000)
    model = SplineDecorrelator().fit(second[:10_000], first[:10_000])
    rest = first[10_000:], second[10_000:]
    flat = model.transform(rest[1], rest[0])
    pairs = [
        [varied.transform(rest[1], rest[0]) for varied in pair] for pair in model.variations(10)
    ]
    plain = abcd.closure(rest[0], flat, CUTS)
    found = abcd.closure(rest[0], flat, CUTS, variations=pairs)
    assert found.predicted == plain.predicted
    # A holds a thirtieth of the 10,000 events of the fit: the map knows it to about 1/sqrt(320).
    assert found.map_error == pytest.approx(0.056, abs=0.015)
    counts = plain.predicted_error / plain.predicted
    assert found.predicted_error == pytest.approx(
        plain.predicted * np.hypot(counts, found.map_error)
    )
    assert abs(found.pull) < 3
    assert abs(abcd.closure(*rest, CUTS).pull) > 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:protected is outside")
def test_the_error_of_the_map_covers():
    """More events to count than to fit: without the error of the map the pulls are too wide."""
    pulls, plain = [], []
    for seed in range(8):
        first, second, _ = toy(100 + seed, 22_000)
        model = SplineDecorrelator().fit(second[:2_000], first[:2_000])
        one, two = first[2_000:], second[2_000:]
        flat = model.transform(two, one)
        pairs = [
            (up.transform(two, one), down.transform(two, one)) for up, down in model.variations(6)
        ]
        plain.append(abcd.closure(one, flat, CUTS).pull)
        pulls.append(abcd.closure(one, flat, CUTS, variations=pairs).pull)
    assert np.sqrt(np.mean(np.square(plain))) > 2
    assert 0.5 < np.sqrt(np.mean(np.square(pulls))) < 1.6


def test_a_map_of_cuts():
    first, second, exact = toy(2, 50_000)
    after = abcd.closure_map(first, exact)
    assert after.ratio.shape == (6, 6)
    one = abcd.closure(first, exact, (after.first_cuts[1], after.second_cuts[3]))
    assert (after.ratio[1, 3], after.pull[1, 3]) == (one.ratio, one.pull)
    assert np.mean(first >= after.first_cuts[3]) == pytest.approx(0.05, abs=1e-4)
    assert np.nanmax(np.abs(after.pull)) < 4
    assert np.nanmax(np.abs(abcd.closure_map(first, second).pull)) > 20


def test_empty_regions_of_a_map_are_unknown():
    score = np.arange(100.0)
    found = abcd.closure_map(score, score, kept=[0.5, 0.1])
    assert np.isnan(found.ratio).all()  # equal scores never disagree


def test_signal_raises_the_prediction():
    first, _, exact = toy(3)
    rng = np.random.default_rng(3)
    signal = rng.normal(1.5, 1, 400), rng.beta(5, 2, 400)
    both = np.append(first, signal[0]), np.append(exact, signal[1])
    labels = np.repeat([0, 1], [len(first), 400])
    share, bias = abcd.contamination(*both, labels, CUTS)
    background = abcd.closure(first, exact, CUTS)
    everything = abcd.closure(*both, CUTS)
    assert share[0] == 1 - background.sums[0] / everything.sums[0]
    assert share[0] > 2 * share[1:].max()
    assert bias == pytest.approx(everything.predicted / background.predicted - 1)
    assert bias > 0.02


def test_an_empty_region_has_no_share_of_signal():
    corners = np.repeat([[2, 0], [0, 2], [0, 0]], 2, axis=0)  # of B, C and D
    share, bias = abcd.contamination(*corners.T, np.zeros(6), (1, 1))
    assert np.isnan(share[0])
    assert (*share[1:], bias) == (0, 0, 0, 0)


def test_pyhf_finds_the_same_prediction():
    pyhf = pytest.importorskip("pyhf")
    first, _, exact = toy(4)
    background = abcd.closure(first, exact, CUTS)
    signal = np.array([100.0, 10.0, 5.0, 1.0])
    counts = background.sums + 2 * signal
    found = abcd.Regions(counts, counts)
    workspace = pyhf.Workspace(abcd.pyhf_workspace(found, signal))
    model = workspace.model()
    fitted = pyhf.infer.mle.fit(workspace.data(model), model)
    mu = fitted[model.config.poi_index]
    # With as many parameters as counts, the fit solves A = mu s_A + B' C' / D'.
    left = counts - mu * signal
    assert left[0] == pytest.approx(left[1] * left[2] / left[3], rel=1e-3)
    assert mu == pytest.approx(2, abs=1)
    # The error of the map is a constrained parameter of A alone.
    unsure = replace(found, map_error=0.1)
    known = pyhf.Workspace(abcd.pyhf_workspace(unsure, signal)).model()
    at = np.array(known.config.suggested_init())
    at[known.config.par_slice("map")] = 1
    moved = known.expected_actualdata(at) / known.expected_actualdata(known.config.suggested_init())
    share = found.predicted / (found.predicted + signal[0])
    assert moved == pytest.approx([1 + 0.1 * share, 1, 1, 1])
    without = pyhf.Workspace(abcd.pyhf_workspace(background)).model()
    start = without.expected_actualdata(without.config.suggested_init())
    assert start == pytest.approx([background.predicted, *background.sums[1:]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1, 2, 3], CUTS), "second has 3 events"),
        (([1, 2], [1, 2], (5, 0)), "region B of the cuts 5 and 0 holds a weight of 0"),
        (([1, np.nan], [1, 2], CUTS), "first is NaN or infinite in 1 of 2"),
        (([1, 2], [1, 2], 0.5), "cuts is 0.5; expected two, on the first and on"),
        (([1, 2], [1, 2], (1, 2, 3)), r"cuts is \(1, 2, 3\); expected two"),
        (([1, 2], [1, 2], (1, np.nan)), "cuts is NaN or infinite in 1 of 2"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        abcd.closure(*arguments)


FOUR = [1, 1, 0, 0], [1, 0, 1, 0], (0.5, 0.5)


@pytest.mark.parametrize(
    ("variations", "message"),
    [
        ([np.zeros(4)], "variations are not pairs of scores, up and down; expected"),
        ([([1, 0, 1, 0], [1, 0])], "variations has 2 events but first has 4"),
        ([([1, 0, 1, 0], [1, 1, 1, 1])], "region B of the cuts 0.5 and 0.5 holds a weight of 0"),
    ],
)
def test_bad_variations(variations, message):
    with pytest.raises(ValueError, match=message):
        abcd.closure(*FOUR, variations=variations)


def test_bad_labels_and_fractions():
    with pytest.raises(ValueError, match="labels is neither 0 nor 1 in 2 of 4 events; expected"):
        abcd.contamination(*FOUR[:2], [0, 1, 2, 24], FOUR[2])
    with pytest.raises(ValueError, match=r"region B of the cuts 0.5 and 0.5 holds a weight of 0"):
        abcd.contamination(*FOUR[:2], [0, 1, 0, 0], FOUR[2])
    with pytest.raises(ValueError, match="kept is 50"):
        abcd.closure_map(*FOUR[:2], kept=[50, 20])


def test_counts_that_no_fit_takes():
    weighted = abcd.closure(*FOUR, sample_weight=[1, 0.5, 1, 1])
    with pytest.raises(ValueError, match=r"the regions hold 1, 0.5, 1, 1; expected counts"):
        abcd.pyhf_workspace(weighted)
    empty = abcd.Regions(np.array([1.0, 1, 1, 0]), np.ones(4))
    with pytest.raises(ValueError, match="region D of the counts holds a weight of 0"):
        abcd.pyhf_workspace(empty)
    with pytest.raises(ValueError, match="signal has 3 events but the regions has 4"):
        abcd.pyhf_workspace(abcd.closure(*FOUR), [1, 2, 3])


@pytest.mark.parametrize("count", [abcd.closure_map, lambda *x, **w: abcd.closure(*x, CUTS, **w)])
def test_no_events_and_weights_that_cancel(count):
    with pytest.raises(ValueError, match="first is empty; expected at least one event"):
        count([], [])
    with pytest.raises(ValueError, match="sample_weight sums to -2 over 4 events"):
        count([0, 0, 2, 2], [0, 2, 0, 2], sample_weight=[-3, -1, 1, 1])
