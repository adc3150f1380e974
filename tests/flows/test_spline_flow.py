import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, logit

from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.flows.spline_flow import SplineFlow

RECIPES = [SplineFlow.paper, SplineFlow.smooth]
POINTS = 20_001  # everywhere, so that a flow is compiled once


def lively(new, features=1, seed=0, size=0.05):
    """A flow far from the identity: parameters as large as in the beginning, and moved.

    They are drawn by NumPy, as the compiler needs seconds for those of JAX.
    """
    shapes = eqx.filter_eval_shape(new, features, key=jax.random.key(0))
    rng = np.random.default_rng(seed)

    def draw(leaf):
        start = rng.uniform(-1, 1, leaf.shape) / np.sqrt(leaf.shape[-1])
        return start + size * rng.normal(size=leaf.shape)

    return jax.tree.map(draw, shapes)


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@eqx.filter_jit
def evaluate(flow, scores, feature):
    """CDF and log density of an array of scores, at one value of the attribute."""
    return jax.vmap(lambda score: flow(score, feature[None]))(scores)


def shape_of(net, features):
    """The shape of what a network gives, which takes no computing."""
    return eqx.filter_eval_shape(lambda net, x: net(x), net, jnp.zeros(features)).shape


def at(flow, feature):
    return lambda scores: evaluate(flow, jnp.asarray(scores), jnp.asarray(feature))


def test_paper_has_three_layers_of_25_numbers_from_two_residual_blocks_of_64():
    flow = eqx.filter_eval_shape(SplineFlow.paper, 1, key=jax.random.key(0))
    assert len(flow.conditioners) == 3
    assert not flow.shift
    for net in flow.conditioners:
        assert isinstance(net, ResidualConditioner)
        assert len(net.blocks) == 2
        assert shape_of(net, 1) == (25,)  # 8 widths, 8 heights, 9 slopes
        assert net.first.weight.shape == (64, 1)
        assert all(layer.weight.shape == (64, 64) for block in net.blocks for layer in block)


def test_smooth_has_one_layer_of_a_shift_three_widths_and_25_numbers():
    flow = eqx.filter_eval_shape(SplineFlow.smooth, 3, key=jax.random.key(0))
    (net,) = flow.conditioners
    assert flow.shift
    assert isinstance(net, SmoothConditioner)
    assert shape_of(net, 3) == (29,)


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
    score = np.linspace(0.01, 0.99, 99)
    flow = eqx.filter_jit(SplineFlow.smooth)(1, key=jax.random.key(0))
    cdf, _ = at(flow, 0.3)(score)
    np.testing.assert_allclose(cdf, score, atol=0.05)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_log_density_is_the_log_derivative_of_the_cdf(new):
    flow = lively(new)
    score = np.linspace(0.003, 0.997, POINTS)
    _, log_density = at(flow, 0.4)(score)
    step = 1e-7
    numerical = (at(flow, 0.4)(score + step)[0] - at(flow, 0.4)(score - step)[0]) / (2 * step)
    np.testing.assert_allclose(np.exp(log_density), numerical, rtol=1e-4)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_log_density_agrees_with_automatic_differentiation(new):
    flow = lively(new)
    score = np.linspace(0.003, 0.997, POINTS)
    slopes = eqx.filter_jit(
        lambda flow, score, m: jax.vmap(jax.grad(lambda s: flow(s, m)[0]))(score)
    )
    slope = slopes(flow, jnp.asarray(score), jnp.asarray([-0.7]))
    np.testing.assert_allclose(at(flow, -0.7)(score)[1], np.log(slope), atol=1e-9)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
@pytest.mark.parametrize("feature", [-1.0, 0.1, 1.0])
def test_the_density_integrates_to_one(new, feature):
    # On the logit, where a density that piles up at 0 or 1 is resolved.
    z = np.linspace(-30, 30, POINTS)
    density = np.exp(at(lively(new), feature)(expit(z))[1]) * expit(z) * expit(-z)
    assert np.trapezoid(density, z) == pytest.approx(1, abs=1e-4)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("new", RECIPES)
def test_the_cdf_runs_from_zero_to_one_and_never_falls(new):
    flow, scores = lively(new, seed=1), np.linspace(0, 1, 5 * POINTS).reshape(5, POINTS)
    cdf = np.concatenate([at(flow, 0.2)(part)[0] for part in scores])
    assert float(cdf[0]) == pytest.approx(0, abs=1e-6)
    assert float(cdf[-1]) == pytest.approx(1, abs=1e-6)
    assert np.diff(cdf).min() >= 0


def test_single_precision_gives_finite_densities_at_both_ends():
    score = jnp.asarray([0.0, 1e-38, 1e-8, 1 - 1e-7, 1.0], dtype="f4")
    for new in RECIPES:
        cdf, log_density = at(lively(new), 0.5)(score)
        assert np.isfinite(cdf).all()
        assert np.isfinite(log_density).all()


@eqx.filter_jit
def spline(numbers, scores):
    """CDF, log density and its slope in the numbers, of a flow without networks."""

    def flow(numbers, score):
        shift = len(numbers) == 29
        return SplineFlow([lambda features: numbers], shift=shift)(score, jnp.zeros(1))[::-1]

    each = jax.vmap(jax.value_and_grad(flow, has_aux=True), (None, 0))
    (log_density, cdf), slope = each(numbers, scores)
    return cdf, log_density, slope


@pytest.mark.parametrize("ends", [(20.0, 20.0), (-20.0, -20.0)])
def test_single_precision_gives_finite_densities_where_an_end_is_stretched_beyond_reason(ends):
    numbers = jnp.asarray([0.0, -1.0, *ends, *[0.0] * 25], dtype="f4")
    scores = jnp.asarray([0.0, 1e-3, 0.5, 0.999, 1.0], dtype="f4")
    for values in spline(numbers, scores)[1:]:
        assert values.dtype == "f4"
        assert np.isfinite(values).all()


@pytest.mark.usefixtures("x64")
def test_the_spline_is_that_of_nflows():
    torch = pytest.importorskip("torch")
    splines = pytest.importorskip("nflows.transforms.splines.rational_quadratic")
    rng = np.random.default_rng(0)
    score = np.linspace(0, 1, 2001)
    at_rest = np.log(np.expm1(1 - splines.DEFAULT_MIN_DERIVATIVE))  # our slopes start from one
    for _ in range(20):
        knots = rng.normal(0, 1.5, 25)
        ours = spline(jnp.asarray(knots), jnp.asarray(score))[:2]
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
