import numpy as np
import pytest
from scipy.stats import norm

from unsculpt.metrics import scan_for_bumps
from unsculpt.metrics.bumps import fit_sidebands, polynomials, smooth_order

EDGES = np.linspace(50, 150, 51)
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
SMOOTH = 400 * np.exp(-(MIDDLES - 50) / 30)
INSIDE = np.arange(50) // 10 == 1


def test_a_smooth_spectrum_is_predicted_from_its_sidebands():
    background = fit_sidebands(SMOOTH, INSIDE, polynomials(EDGES, 5))
    assert background.in_window == pytest.approx(SMOOTH[INSIDE].sum(), rel=1e-3)


def test_the_fit_is_that_of_minuit():
    iminuit = pytest.importorskip("iminuit")
    counts = np.random.default_rng(1).poisson(SMOOTH).astype(float)
    basis = polynomials(EDGES, 4)
    ours = fit_sidebands(counts, INSIDE, basis)

    def loss(c):
        log = basis[~INSIDE] @ c
        return np.sum(np.exp(log) - counts[~INSIDE] * log)

    fit = iminuit.Minuit(loss, np.linalg.lstsq(basis, np.log(SMOOTH))[0])
    fit.errordef = fit.LIKELIHOOD
    fit.strategy, fit.tol = 2, 1e-6
    fit.migrad()
    expected = np.exp(basis @ np.array(fit.values))
    np.testing.assert_allclose(ours.expected, expected, rtol=1e-4)
    slope = expected[INSIDE] @ basis[INSIDE]
    error = np.sqrt(slope @ np.array(fit.covariance) @ slope)
    assert ours.error == pytest.approx(error, rel=1e-2)


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_pulls_without_signal_are_normal(weighted):
    random = np.random.default_rng(2)
    pulls = []
    for _ in range(60):
        counts = random.poisson(SMOOTH)
        weights = [random.exponential(3, n) if weighted else np.ones(n) for n in counts]
        content, squares = (np.array([np.sum(w**k) for w in weights]) for k in (1, 2))
        scan = scan_for_bumps(content, EDGES, width=5, order=2, squares=squares)
        pulls.append(scan.pulls[[5, 20, 35]])
    assert abs(np.mean(pulls)) < 0.3
    assert np.std(pulls) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda random, n: random.choice([1, 1, 1, -1], n), id="of both signs"),
        pytest.param(lambda random, n: random.lognormal(size=n), id="heavy"),
    ],
)
def test_weights_of_few_events_do_not_bend_the_fit(draw):
    random = np.random.default_rng(3)
    pulls = []
    for _ in range(40):
        counts = random.poisson(SMOOTH / 6)
        weights = [draw(random, n) for n in counts]
        content, squares = (np.array([np.sum(w**k) for w in weights]) for k in (1.0, 2.0))
        pulls.append(scan_for_bumps(content, EDGES, width=5, order=2, squares=squares).pulls)
    assert abs(np.mean(pulls)) < 0.15
    assert np.std(pulls) == pytest.approx(1, abs=0.15)


def test_a_bump_is_found_where_it_is():
    bump = 600 * np.diff(norm.cdf(EDGES, 90, 4))
    scan = scan_for_bumps(SMOOTH + bump, EDGES, width=5, order=2)
    best = scan.pulls.argmax()
    assert scan.low[best] < 90 < scan.high[best]
    assert scan.pulls[best] > 5
    assert scan.excess[best] == pytest.approx(600 * 0.78, rel=0.2)


def test_the_order_is_the_lowest_that_describes_the_spectrum():
    assert smooth_order(SMOOTH, EDGES) == 2
    wavy = 40 * SMOOTH * (1 + 0.2 * np.sin(MIDDLES / 12))
    assert smooth_order(wavy, EDGES) > 3


def test_empty_and_nearly_empty_spectra_have_pulls():
    counts = np.zeros(50)
    counts[[0, 3, 20]] = 1
    assert np.all(np.isfinite(scan_for_bumps(counts, EDGES, width=5, order=2).pulls))


def test_a_window_that_holds_everything_is_refused():
    with pytest.raises(ValueError, match="a window of 50 of 50 bins leaves 0 beside it"):
        scan_for_bumps(SMOOTH, EDGES, width=50)


@pytest.mark.parametrize(
    ("content", "edges", "message"),
    [
        (np.ones(30), np.arange(30.0), "edges has 30 values for 30 bins"),
        (np.ones(30), np.arange(31.0) ** 2, "equally far apart"),
        (np.zeros(30), np.arange(31.0), "content sums to 0"),
    ],
)
def test_what_is_no_spectrum_is_refused(content, edges, message):
    with pytest.raises(ValueError, match=message):
        scan_for_bumps(content, edges, width=3)


def test_what_is_in_the_window_does_not_matter_beside_it():
    edges = np.linspace(50, 150, 51)
    content = np.random.default_rng(4).poisson(2e3 * np.exp(-edges[:-1] / 40)).astype(float)
    inside, basis = (edges[:-1] >= 90) & (edges[:-1] < 100), polynomials(edges, 3)
    fits = [
        fit_sidebands(content + more * inside, inside, basis, content + squares * inside)
        for more, squares in ((0, 0), (600, 12), (600, 30_000))
    ]
    assert len({(fit.in_window, fit.error) for fit in fits}) == 1
