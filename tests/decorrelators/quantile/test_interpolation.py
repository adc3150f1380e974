import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flowjax.bijections import RationalQuadraticSpline
from paramax import unwrap
from scipy.interpolate import PchipInterpolator

from unsculpt.decorrelators.quantile.interpolation import _slopes, inverse_spline, spline

KNOTS = np.array([-2.0, -1.2, 0.1, 1.5, 2.0])
HEIGHTS = np.array([-2.0, -0.3, 0.2, 0.9, 2.0])
X = np.linspace(-5, 5, 1001)


def repeated(x):
    return np.tile(KNOTS, (len(x), 1))


def test_it_passes_through_its_knots():
    np.testing.assert_allclose(spline(KNOTS, repeated(KNOTS), HEIGHTS), HEIGHTS, atol=1e-12)


def test_slopes_inside_are_those_of_pchip():
    expected = PchipInterpolator(KNOTS, HEIGHTS).derivative()(KNOTS)
    np.testing.assert_allclose(_slopes(KNOTS[None], HEIGHTS)[0, 1:-1], expected[1:-1])


def test_between_the_knots_it_is_the_spline_of_flowjax():
    with jax.enable_x64(True):
        theirs = unwrap(RationalQuadraticSpline(knots=3, interval=(-2.0, 2.0)))
        slopes = _slopes(KNOTS[None], HEIGHTS)[0]
        theirs = eqx.tree_at(
            lambda s: (s.x_pos, s.y_pos, s.derivatives),
            theirs,
            tuple(map(jnp.asarray, (KNOTS, HEIGHTS, slopes))),
        )
        expected = jax.vmap(theirs.transform)(jnp.asarray(X))
    np.testing.assert_allclose(spline(X, repeated(X), HEIGHTS), expected, atol=1e-6)


@pytest.mark.parametrize("q", [1, 2, 3, 20])
def test_it_rises_and_inverts_for_any_knots(q):
    rng = np.random.default_rng(q)
    heights = np.cumsum(rng.exponential(size=q))
    for _ in range(20):
        knots = np.tile(np.cumsum(10 ** rng.uniform(-4, 1, q)), (1001, 1))
        x = np.linspace(knots[0, 0] - 2, knots[0, -1] + 2, 1001)
        y = spline(x, knots, heights)
        assert np.diff(y).min() > 0
        np.testing.assert_allclose(inverse_spline(y, knots, heights), x, atol=1e-8)


def test_beyond_the_knots_it_is_a_line_of_slope_one():
    y = spline(X, repeated(X), HEIGHTS)
    np.testing.assert_allclose(np.diff(y[X < -2.01]), 0.01)
    np.testing.assert_allclose(np.diff(y[X > 2.01]), 0.01)
