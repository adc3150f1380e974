from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import legendre

from unsculpt.penalties import moment_decomposition

SETTINGS = [
    {"order": 0},
    pytest.param({"order": 1}, marks=pytest.mark.slow),
    pytest.param({"order": 2}, marks=pytest.mark.slow),
    {"order": 1, "max_slope": 0.2},
    pytest.param({"order": 2, "monotonic": True}, marks=pytest.mark.slow),
    {"order": 2, "max_slope": 0.3, "monotonic": True},
]


class Definition:
    """The definition, word by word."""

    def __init__(self, scores, mass, weight, order, bins, max_slope=None, monotonic=False):
        kept = weight != 0
        self.scores, self.weight = scores[kept], weight[kept]
        mass = mass[kept]
        self.order, self.max_slope, self.monotonic = order, max_slope, monotonic

        # Equal shares of weight, each event by the middle of the weight at its mass.
        total = self.weight.sum()
        below = np.array([self.weight[mass < m].sum() for m in mass])
        at = np.array([self.weight[mass == m].sum() for m in mass])
        self.bin = np.floor(bins * (below + at / 2) / total).astype(int)
        self.bins = sorted(set(self.bin))

        scaled = 2 * (mass - mass.min()) / (mass.max() - mass.min()) - 1
        inside = [self.bin == b for b in self.bins]
        meet = [(scaled[a].max() + scaled[b].min()) / 2 for a, b in pairwise(inside)]
        self.width = np.diff([-1.0, *meet, 1.0])
        self.share = np.array([self.weight[b].sum() for b in inside]) / total
        self.legendre = [
            [np.average(legendre.legval(scaled[b], c), weights=self.weight[b]) for b in inside]
            for c in np.eye(3)
        ]

    def project(self, values, degree):
        """Least squares over the range: coefficients, and the polynomial in the bins."""
        basis, root = np.transpose(self.legendre[: degree + 1]), np.sqrt(self.width)
        coefficients = np.linalg.lstsq(basis * root[:, None], values * root, rcond=None)[0]
        return coefficients, basis @ coefficients

    def fit(self, cdf):
        _, fitted = self.project(cdf, 0)
        if self.order > 0:
            (_, slope), _ = self.project(cdf, 1)
            if self.max_slope is not None:
                limit = self.max_slope * fitted[0]
                slope = limit * np.tanh(slope / limit) if limit else 0.0
            linear = np.array(self.legendre[1])
            fitted = fitted + slope * (linear - self.project(linear, 0)[1])
        if self.order > 1:
            (_, _, curve), _ = self.project(cdf, 2)
            quadratic = np.array(self.legendre[2])
            (_, tilt), line = self.project(quadratic, 1)
            if self.monotonic:
                limit = slope / (3 + abs(tilt))
                curve = limit * np.tanh(curve / limit) if limit else 0.0
            fitted = fitted + curve * (quadratic - line)
        return fitted

    def cdf(self, score):
        """F of each bin at a score, events at the score itself counted half."""
        step = np.where(self.scores < score, 1.0, np.where(self.scores == score, 0.5, 0.0))
        inside = [self.bin == b for b in self.bins]
        return np.array([np.average(step[b], weights=self.weight[b]) for b in inside])

    def residual(self, cdf):
        return np.sum(self.share * (cdf - self.fit(cdf)) ** 2)

    def value(self):
        edges = np.unique(self.scores)
        return sum(
            (high - low) * self.residual(self.cdf((low + high) / 2))
            for low, high in pairwise(edges)
        )

    def gradient(self):
        """The slope of the residual at each score in F of its bin, times the event's part of F."""
        slopes = []
        for score, weight, b in zip(self.scores, self.weight, self.bin, strict=True):
            shift = 1e-6 * (np.array(self.bins) == b)
            cdf, part = self.cdf(score), weight / self.weight[self.bin == b].sum()
            rise = self.residual(cdf + shift) - self.residual(cdf - shift)
            slopes.append(-part * rise / 2e-6)
        return np.array(slopes)


def prepared(sample, ties):
    scores, mass, weight = (column.astype(float) for column in sample)
    return (np.round(scores, 1), np.round(mass, -1), weight) if ties else (scores, mass, weight)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_follows_its_definition(sample, settings, ties):
    scores, mass, weight = prepared(sample, ties)
    expected = Definition(scores, mass, weight, bins=6, **settings).value()
    ours = moment_decomposition(scores, mass, sample_weight=weight, bins=6, **settings)
    assert expected > 1e-5
    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[-1]], ids=str)
def test_every_kind_of_array_gives_the_same(kind, sample, settings):
    expected = moment_decomposition(*sample[:2], sample_weight=sample[2], bins=6, **settings)
    scores, mass, weight = map(kind, sample)
    ours = moment_decomposition(scores, mass, sample_weight=weight, bins=6, **settings)
    assert float(ours) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_gradient_follows_its_definition(gradient, sample, settings, ties):
    scores, mass, weight = prepared(sample, ties)

    def penalty(scores, mass, weight):
        return moment_decomposition(scores, mass, sample_weight=weight, bins=6, **settings)

    slope = gradient(penalty, scores, mass, weight)
    expected = Definition(scores, mass, weight, bins=6, **settings).gradient()
    np.testing.assert_allclose(slope[weight > 0], expected, atol=1e-9)
    assert not slope[weight == 0].any()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_gradient_is_that_of_the_value(gradient, differences, sample, order):
    scores, mass, _ = sample

    def penalty(scores, mass=mass):
        return moment_decomposition(scores, mass, order=order, bins=6)

    slope = gradient(penalty, scores, mass)
    np.testing.assert_allclose(slope, differences(penalty, scores, 1e-8), atol=1e-7)


@pytest.mark.parametrize("settings", SETTINGS[:5], ids=str)
def test_agrees_with_the_code_of_its_authors(settings):
    torch = pytest.importorskip("torch")
    peer = pytest.importorskip("modeloss.pytorch")
    random = np.random.default_rng(0)
    mass = random.uniform(size=4096)
    scores = 1 / (1 + np.exp(-random.normal(2 * (mass - 0.3) ** 2)))

    def slope(penalty):
        column = torch.tensor(scores, requires_grad=True)
        value = penalty(column)
        value.backward()
        return value.item(), column.grad.numpy()

    mass = torch.tensor(mass)
    ours, our_slope = slope(lambda scores: moment_decomposition(scores, mass, **settings))
    loss = peer.MoDeLoss(bins=32, sbins=1000, **settings)
    theirs, their_slope = slope(lambda scores: loss(scores, torch.zeros(4096), mass))
    # Their bins leave out the gaps between events, which here are 32 of 4096.
    assert ours == pytest.approx(theirs, rel=0.06)
    assert np.corrcoef(our_slope, their_slope)[0, 1] > 0.999
    assert our_slope.std() == pytest.approx(their_slope.std(), rel=0.01)


def cut_with(efficiency, mass):
    """Scores 0 and 1, with an exact efficiency at every mass."""
    scores = np.repeat([0.0, 1.0], len(mass))
    return scores, np.tile(mass, 2), np.concatenate([1 - efficiency, efficiency])


@pytest.mark.parametrize("bins", [8, 16])
def test_a_polynomial_efficiency_is_free_at_its_order(bins):
    mass = 50 + 5 * np.arange(16.0) ** 1.5  # the last bins are wide
    scaled = 2 * (mass - mass[0]) / (mass[-1] - mass[0]) - 1
    efficiencies = [0.3 + 0 * scaled, 0.4 + 0.3 * scaled, 0.5 + 0.1 * scaled - 0.4 * scaled**2]
    for degree, efficiency in enumerate(efficiencies):
        scores, masses, weight = cut_with(efficiency, mass)
        for order in (0, 1, 2):
            penalty = moment_decomposition(
                scores, masses, order=order, bins=bins, sample_weight=weight
            )
            assert penalty < 1e-15 if order >= degree else penalty > 1e-3


def test_a_slope_beyond_the_largest_costs():
    mass = np.linspace(50, 150, 16)
    gentle, steep = (0.5 + tilt * np.linspace(-1, 1, 16) for tilt in (0.01, 0.4))

    def penalty(efficiency, **settings):
        scores, masses, weight = cut_with(efficiency, mass)
        return moment_decomposition(scores, masses, bins=16, sample_weight=weight, **settings)

    assert penalty(gentle, order=1, max_slope=0.4) < 1e-3 * penalty(gentle)
    assert penalty(steep, order=1, max_slope=0.4) > 0.1 * penalty(steep)
    assert penalty(steep, order=1, max_slope=1e6) < 1e-9 * penalty(steep)


def test_a_quadratic_that_turns_is_not_monotonic():
    mass = np.linspace(50, 150, 16)
    scaled = np.linspace(-1, 1, 16)

    def penalty(efficiency, **settings):
        scores, masses, weight = cut_with(efficiency, mass)
        return moment_decomposition(scores, masses, bins=16, sample_weight=weight, **settings)

    turns = 0.5 - 0.4 * scaled**2
    rises = 0.3 + 0.3 * scaled + 0.02 * scaled**2
    assert penalty(turns, order=2) < 1e-12
    assert penalty(turns, order=2, monotonic=True) > 0.9 * penalty(turns)
    assert penalty(rises, order=2, monotonic=True) < 1e-3 * penalty(rises)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_weight_is_a_number_of_events(sample, order):
    scores, mass, weight = sample
    repeated = (np.repeat(column, weight) for column in (scores, mass))
    ours = moment_decomposition(scores, mass, order=order, bins=6, sample_weight=weight)
    assert ours == pytest.approx(moment_decomposition(*repeated, order=order, bins=6), rel=1e-12)


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[-1]], ids=str)
def test_an_event_of_weight_zero_is_not_there(gradient, sample, settings):
    scores, mass, weight = (column.astype(float) for column in sample)
    kept = weight > 0

    def penalty(scores, mass, weight):
        return moment_decomposition(scores, mass, sample_weight=weight, bins=6, **settings)

    alone = penalty(scores[kept], mass[kept], weight[kept])
    slope = gradient(penalty, scores, mass, weight)
    scores[~kept], mass[~kept] = np.nan, np.inf
    assert penalty(scores, mass, weight) == pytest.approx(alone, rel=1e-12)
    np.testing.assert_allclose(gradient(penalty, scores, mass, weight), slope, atol=1e-12)
    assert not slope[~kept].any()


def test_order_of_events_and_units_of_the_attribute_do_not_matter(sample):
    scores, mass, weight = sample
    once = moment_decomposition(scores, mass, order=2, sample_weight=weight)
    again = moment_decomposition(
        scores[::-1], 1e3 * mass[::-1], order=2, sample_weight=7 * weight[::-1]
    )
    assert once == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[-1]], ids=str)
def test_nothing_to_learn_is_zero_with_a_zero_gradient(gradient, settings):
    random = np.random.default_rng(0)
    scores, same = random.uniform(size=60), np.full(60, 0.3)

    def penalty(scores, mass, weight):
        return moment_decomposition(scores, mass, sample_weight=weight, bins=6, **settings)

    for columns in (
        (scores, same, np.ones(60)),  # no range in mass
        (same, scores, np.ones(60)),  # all scores equal: no cut separates
        (scores, scores, np.zeros(60)),  # no events
    ):
        assert penalty(*columns) == pytest.approx(0, abs=1e-15)
        assert np.isfinite(gradient(penalty, *columns)).all()
    assert not gradient(penalty, scores, same, np.ones(60)).round(12).any()
    assert not gradient(penalty, scores, scores, np.zeros(60)).any()


def test_two_categories_are_fitted_by_a_line(kind, sample):
    scores, mass, _ = sample
    category = kind(np.where(mass > 80, 1.0, 0.0))
    flat, line, curve = (
        float(moment_decomposition(kind(scores), category, order=order, bins=6))
        for order in (0, 1, 2)
    )
    assert flat > 0.01
    assert max(line, curve) < 1e-9


def test_negative_weights_take_events_away():
    scores, mass = np.random.default_rng(0).uniform(size=(2, 400))
    # An event with a twin of the opposite weight is no event.
    twins = [np.concatenate([column, column[:50], column[:50]]) for column in (scores, mass)]
    weight = np.concatenate([np.ones(450), -np.ones(50)])
    ours = moment_decomposition(*twins, bins=4, sample_weight=weight)
    assert ours == pytest.approx(moment_decomposition(scores, mass, bins=4), rel=0.5)


def test_nan_is_not_hidden(kind, sample):
    scores, mass, _ = (column.astype(float) for column in sample)
    scores[7] = np.nan
    assert np.isnan(float(moment_decomposition(kind(scores), kind(mass), bins=6)))
    assert np.isnan(float(moment_decomposition(kind(mass), kind(scores), bins=6)))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[-1]], ids=str)
def test_many_models_at_once_in_single_precision(settings):
    random = np.random.default_rng(0)
    mass = random.exponential(size=2000)
    batch = 1 / (1 + np.exp(-random.normal(mass, size=(3, 2000))))
    weight = random.integers(0, 3, 2000).astype(float)

    def penalty(scores, mass, weight):
        return moment_decomposition(scores, mass, sample_weight=weight, **settings)

    together = jax.jit(jax.vmap(jax.value_and_grad(penalty), (0, None, None)))
    values, slopes = together(*(jnp.asarray(array, "f4") for array in (batch, mass, weight)))
    assert values.dtype == np.float32
    for scores, value, slope in zip(batch, values, np.asarray(slopes), strict=True):
        assert float(value) == pytest.approx(penalty(scores, mass, weight), rel=1e-4)
        assert not slope[weight == 0].any()
        # A common shift of the scores changes nothing.
        assert abs(slope.sum()) < 1e-3 * abs(slope).sum()
