import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm

from unsculpt.flows import increasing

SCORES = jnp.linspace(-3, 3, 101)


def test_a_rising_map_keeps_its_values():
    scores = jnp.linspace(-3, 3, 101)
    rising = increasing(norm.cdf, -1.0, 1.0, centre=0.5)
    assert jnp.array_equal(rising(scores), norm.cdf(scores))


def test_the_direction_may_differ_from_event_to_event():
    slopes = jnp.array([2.0, -3.0])

    def flow(slope, score):
        return increasing(lambda s: slope * s, -1.0, 1.0, centre=0.0)(score)

    assert jax.jit(jax.vmap(flow))(slopes, jnp.ones(2)).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("centre", [0.5, 0.0, 2.0])
def test_a_falling_map_is_reflected_about_the_centre(centre):
    def falling(score):
        return centre - jnp.tanh(score)

    np.testing.assert_allclose(
        increasing(falling, -1.0, 1.0, centre)(SCORES), centre + jnp.tanh(SCORES), atol=1e-6
    )


def test_the_reflection_of_a_survival_function_is_the_cdf():
    reflected = increasing(norm.sf, -1.0, 1.0, centre=0.5)
    np.testing.assert_allclose(reflected(SCORES), norm.cdf(SCORES), atol=1e-6)


def test_the_reflection_keeps_the_order_of_the_scores():
    reflected = increasing(lambda s: 1 / (1 + jnp.exp(s)), 0.0, 0.1, centre=0.5)
    assert np.all(np.diff(reflected(SCORES)) > 0)
