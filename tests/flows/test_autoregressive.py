import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from unsculpt.flows.autoregressive import BINS, TAIL_BOUND, AutoregressiveFlow, AutoregressiveLayer

ATTRIBUTES = np.array([0.4, -0.7])


def draw(new, *sizes, seed, size):
    """Parameters far from where they start, from NumPy: the compiler needs seconds for JAX's."""
    shapes = eqx.filter_eval_shape(new, *sizes, key=jax.random.key(0))
    rng = np.random.default_rng(seed)

    def one(leaf):
        start = rng.uniform(-1, 1, leaf.shape) / np.sqrt(leaf.shape[-1])
        return start + size * rng.normal(size=leaf.shape)

    return jax.tree.map(one, shapes)


def layer(variables, seed=0):
    return draw(AutoregressiveLayer, variables, len(ATTRIBUTES), seed=seed, size=0.2)


def flow(variables, classes=1, seed=0, size=0.1):
    others = jnp.zeros((classes - 1, variables))
    return draw(AutoregressiveFlow, len(ATTRIBUTES), others, others, seed=seed, size=size)


def events(variables, n=200):
    return np.random.default_rng(5).normal(0, 1.5, size=(n, variables))


@eqx.filter_jit
def evaluate(method, x, attributes=ATTRIBUTES):
    return jax.vmap(lambda x: method(x, jnp.asarray(attributes)))(jnp.asarray(x))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def test_it_is_built_as_in_the_paper():
    new = flow(3)
    weight = new.layers.conditioner.first.weight
    assert weight.shape == (4, 64, 5)  # four layers, 64 units, three variables and two attributes
    assert len(new.layers.conditioner.blocks) == 2
    assert new.layers.conditioner.last.weight.shape == (4, 3 * 29, 64)  # 10 + 10 + 9 numbers
    assert (BINS, TAIL_BOUND) == (10, 3)


@pytest.mark.parametrize("variables", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_variable_is_moved_by_those_before_it_only(variables):
    one = layer(variables)
    slopes = evaluate(jax.jacobian(lambda x, a: one(x, a)[0]), events(variables))
    assert np.all(slopes[:, *np.triu_indices(variables, 1)] == 0)
    assert np.all(slopes[:, *np.diag_indices(variables)] > 0)
    below = np.abs(slopes).max(axis=0)[np.tril_indices(variables, -1)]
    assert np.all(below > 1e-3)


@pytest.mark.slow
def test_every_variable_follows_every_attribute():
    one = layer(3)
    slopes = evaluate(jax.jacobian(lambda x, a: one(x, a)[0], argnums=1), events(3))
    assert np.all(np.abs(slopes).max(axis=0) > 1e-3)


def test_the_inverse_leads_back():
    whole, x = flow(3), events(3)
    latent, _ = evaluate(whole, x)
    assert np.abs(latent - x).max() > 0.5
    np.testing.assert_allclose(evaluate(whole.inverse, latent), x, atol=1e-9)


def test_the_volume_is_that_of_automatic_differentiation():
    whole, x = flow(3), events(3)
    _, log_volume = evaluate(whole, x)
    jacobian = evaluate(jax.jacobian(lambda x, a: whole(x, a)[0]), x)
    np.testing.assert_allclose(log_volume, np.linalg.slogdet(jacobian)[1], atol=1e-9)


@pytest.mark.slow
def test_the_density_of_each_class_integrates_to_one():
    both = flow(2, classes=2, seed=1, size=0.03)  # smooth enough for so few points
    edges = np.linspace(-6, 6, 201)
    centres = (edges[1:] + edges[:-1]) / 2
    grid = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)
    log_densities = evaluate(lambda x, a: both.log_prob(x, a, jnp.arange(2)), grid)
    total = np.exp(log_densities).sum(axis=0) * np.diff(edges)[0] ** 2
    np.testing.assert_allclose(total, 1, atol=5e-3)


@pytest.mark.slow
def test_the_base_is_standard_for_the_first_class_and_as_learned_for_the_others():
    three = flow(2, classes=3)
    mean, width = three.base(jnp.asarray([0, 2]))
    np.testing.assert_allclose(mean, [[0, 0], three.means[1]])
    np.testing.assert_allclose(width, [[1, 1], np.exp(three.log_widths[1])])
    x = events(2)
    latent, log_volume = evaluate(three, x)
    log_density = evaluate(lambda x, a: three.log_prob(x, a, 2), x)
    expected = norm(three.means[1], np.exp(three.log_widths[1])).logpdf(latent).sum(axis=1)
    np.testing.assert_allclose(log_density, expected + log_volume, atol=1e-9)


def test_beyond_the_tail_bound_nothing_moves_and_the_slope_goes_over_into_one():
    x = np.array([[-7.0], [-3.0], [3.0], [11.0]])
    y, log_volume = evaluate(layer(1), x)
    np.testing.assert_allclose(y, x)
    np.testing.assert_allclose(log_volume, 0, atol=1e-6)


def test_the_spline_with_its_tails_is_that_of_nflows():
    torch = pytest.importorskip("torch")
    splines = pytest.importorskip("nflows.transforms.splines.rational_quadratic")
    one, x = layer(1), np.linspace(-4, 4, 2001)[:, None]
    numbers = one._knots(jnp.asarray(x[0]), jnp.asarray(ATTRIBUTES))[0]
    widths, heights, slopes = np.split(np.asarray(numbers), [BINS, 2 * BINS])
    at_rest = np.log(np.expm1(1 - splines.DEFAULT_MIN_DERIVATIVE))  # our slopes start from one
    theirs = splines.unconstrained_rational_quadratic_spline(
        torch.as_tensor(x[:, 0]),
        *(torch.as_tensor(np.tile(v, (len(x), 1))) for v in (widths, heights, slopes + at_rest)),
        tails="linear",
        tail_bound=TAIL_BOUND,
    )
    for ours, their in zip(evaluate(one, x), theirs, strict=True):
        np.testing.assert_allclose(np.ravel(ours), their.numpy(), atol=1e-7)


def test_a_layer_is_the_autoregressive_transform_of_zuko():
    torch = pytest.importorskip("torch")
    zuko = pytest.importorskip("zuko")
    splines = pytest.importorskip("nflows.transforms.splines.rational_quadratic")
    ours, x = layer(3), events(3, n=50)
    at_rest = np.log(np.expm1(1 - splines.DEFAULT_MIN_DERIVATIVE))

    class NflowsSpline(torch.distributions.Transform):
        domain = codomain = torch.distributions.constraints.real
        bijective = True

        def __init__(self, numbers):
            super().__init__()
            widths, heights, slopes = numbers.split([BINS, BINS, BINS - 1], dim=-1)
            self.numbers = (widths, heights, slopes + at_rest)

        def move(self, x, inverse):
            return splines.unconstrained_rational_quadratic_spline(
                x, *self.numbers, inverse=inverse, tails="linear", tail_bound=TAIL_BOUND
            )

        def _call(self, x):
            return self.move(x, False)[0]

        def _inverse(self, y):
            return self.move(y, True)[0]

        def log_abs_det_jacobian(self, x, y):
            return self.move(x, False)[1]

    def given(x):
        numbers = evaluate(ours._knots, x.detach().numpy())
        return NflowsSpline(torch.as_tensor(np.array(numbers)))

    theirs = zuko.transforms.AutoregressiveTransform(given, passes=3)
    y, log_volume = evaluate(ours, x)
    expected, expected_volume = theirs.call_and_ladj(torch.as_tensor(x))
    np.testing.assert_allclose(y, expected.numpy(), atol=1e-7)
    np.testing.assert_allclose(log_volume, expected_volume.sum(dim=-1).numpy(), atol=1e-5)
    back = theirs.inv(torch.as_tensor(np.array(y)))
    np.testing.assert_allclose(evaluate(ours.inverse, y), back.numpy(), atol=1e-5)
