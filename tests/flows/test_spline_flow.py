import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, logit

from unsculpt.flows import ResidualConditioner, SmoothConditioner, SplineFlow

RECIPES = [SplineFlow.paper, SplineFlow.smooth]


def lively(new, features=1, seed=0, size=0.05):
    """An untrained flow with its parameters moved, so that it is far from the identity."""
    flow = new(features, key=jax.random.key(seed))
    leaves, structure = jax.tree.flatten(flow)
    rng = np.random.default_rng(seed)
    moved = [np.asarray(x, float) + size * rng.normal(size=x.shape) for x in leaves]
    return jax.tree.unflatten(structure, moved)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@eqx.filter_jit
def evaluate(flow, scores, feature):
    """CDF and log density of an array of scores, at one value of the attribute."""
    return jax.vmap(lambda score: flow(score, feature[None]))(scores)


def at(flow, feature):
    return lambda scores: evaluate(flow, jnp.asarray(scores), jnp.asarray(feature))


def test_paper_has_three_layers_of_25_numbers_from_two_residual_blocks_of_64():
    flow = SplineFlow.paper(1, key=jax.random.key(0))
    assert len(flow.conditioners) == 3
    assert not flow.shift
    for net in flow.conditioners:
        assert isinstance(net, ResidualConditioner)
        assert len(net.blocks) == 2
        assert net(jnp.zeros(1)).shape == (25,)  # 8 widths, 8 heights, 9 slopes
        assert net.first.weight.shape == (64, 1)
        assert all(layer.weight.shape == (64, 64) for block in net.blocks for layer in block)


def test_smooth_has_one_layer_of_a_shift_three_widths_and_25_numbers():
    flow = SplineFlow.smooth(3, key=jax.random.key(0))
    (net,) = flow.conditioners
    assert flow.shift
    assert isinstance(net, SmoothConditioner)
    assert net(jnp.zeros(3)).shape == (29,)


@pytest.mark.usefixtures("x64")
def test_the_ends_of_the_logit_are_stretched_once_more():
    shift, log_width, log_above, log_below = 0.5, 0.1, -0.7, 0.4
    numbers = jnp.asarray([shift, log_width, log_above, log_below, *[0.0] * 25])
    flow = SplineFlow([lambda features: numbers], shift=True)
    z = np.array([-22.0, -20.0, -0.5, shift, 1.5, 12.0, 13.0])
    cdf = logit(at(flow, 0.0)(expit(z))[0])
    low, middle, high = cdf[1] - cdf[0], cdf[4] - cdf[2], cdf[6] - cdf[5]
    assert cdf[3] == pytest.approx(0, abs=0.03)
    assert low == pytest.approx(2 * np.exp(-log_width - log_below), rel=1e-3)
    assert middle == pytest.approx(2 * np.exp(-log_width), rel=0.05)
    assert high == pytest.approx(np.exp(-log_width - log_above), rel=1e-3)


def test_untrained_smooth_flow_is_close_to_the_identity():
    score = jnp.linspace(0.01, 0.99, 99)
    flow = SplineFlow.smooth(1, key=jax.random.key(0))
    cdf, _ = at(flow, 0.3)(score)
    np.testing.assert_allclose(cdf, score, atol=0.05)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_log_density_is_the_log_derivative_of_the_cdf(new):
    flow = lively(new)
    score = jnp.linspace(0.003, 0.997, 301)
    _, log_density = at(flow, 0.4)(score)
    step = 1e-7
    numerical = (at(flow, 0.4)(score + step)[0] - at(flow, 0.4)(score - step)[0]) / (2 * step)
    np.testing.assert_allclose(np.exp(log_density), numerical, rtol=1e-4)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_log_density_agrees_with_automatic_differentiation(new):
    flow = lively(new)
    score = jnp.linspace(0.003, 0.997, 301)
    slope = jax.vmap(jax.grad(lambda s: flow(s, jnp.asarray([-0.7]))[0]))(score)
    np.testing.assert_allclose(at(flow, -0.7)(score)[1], np.log(slope), atol=1e-9)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
@pytest.mark.parametrize("feature", [-1.0, 0.1, 1.0])
def test_the_density_integrates_to_one(new, feature):
    # On the logit, where a density that piles up at 0 or 1 is resolved.
    z = np.linspace(-30, 30, 20_001)
    density = np.exp(at(lively(new), feature)(expit(z))[1]) * expit(z) * expit(-z)
    assert np.trapezoid(density, z) == pytest.approx(1, abs=1e-4)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_the_cdf_runs_from_zero_to_one_and_never_falls(new):
    score = jnp.linspace(0, 1, 100_001)
    cdf, _ = at(lively(new, seed=1), 0.2)(score)
    assert float(cdf[0]) == pytest.approx(0, abs=1e-6)
    assert float(cdf[-1]) == pytest.approx(1, abs=1e-6)
    assert np.diff(cdf).min() >= 0


def test_single_precision_gives_finite_densities_at_both_ends():
    score = jnp.asarray([0.0, 1e-38, 1e-8, 1 - 1e-7, 1.0], dtype="f4")
    for new in RECIPES:
        cdf, log_density = at(lively(new), 0.5)(score)
        assert np.isfinite(cdf).all()
        assert np.isfinite(log_density).all()


@pytest.mark.parametrize("ends", [(20.0, 20.0), (-20.0, -20.0)])
def test_single_precision_gives_finite_densities_where_an_end_is_stretched_beyond_reason(ends):
    numbers = jnp.asarray([0.0, -1.0, *ends, *[0.0] * 25], dtype="f4")

    def log_density(numbers, score):
        return SplineFlow([lambda features: numbers], shift=True)(score, jnp.zeros(1))[1]

    for score in jnp.asarray([0.0, 1e-3, 0.5, 0.999, 1.0], dtype="f4"):
        value, slope = jax.value_and_grad(log_density)(numbers, score)
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


@pytest.mark.usefixtures("x64")
def test_the_spline_is_that_of_nflows():
    torch = pytest.importorskip("torch")
    splines = pytest.importorskip("nflows.transforms.splines.rational_quadratic")
    rng = np.random.default_rng(0)
    score = np.linspace(0, 1, 2001)
    at_rest = np.log(np.expm1(1 - splines.DEFAULT_MIN_DERIVATIVE))  # our slopes start from one
    for _ in range(20):
        knots = rng.normal(0, 1.5, 25)
        flow = SplineFlow([lambda features, knots=knots: jnp.asarray(knots)], shift=False)
        ours = at(flow, 0.0)(jnp.asarray(score))
        widths, heights, slopes = np.split(knots, [8, 16])
        theirs = splines.rational_quadratic_spline(
            torch.as_tensor(score),
            *(
                torch.as_tensor(np.broadcast_to(x, (len(score), len(x))).copy())
                for x in (widths, heights, slopes + at_rest)
            ),
        )
        for our, their in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(our, their.numpy(), atol=1e-7)
