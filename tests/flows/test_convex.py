import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unsculpt.flows import ConvexPotential, transport, transport_back


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def wild(dimensions, members=None):
    """A potential with parameters far from those it starts with, or an ensemble of them."""

    def one(key):
        new = ConvexPotential(dimensions, 2, key=key)
        arrays, rest = eqx.partition(new, eqx.is_inexact_array)
        return eqx.combine(jax.tree.map(lambda x: 2 * x + 0.2, arrays), rest)

    key = jax.random.key(dimensions)
    if members is None:
        return eqx.filter_jit(one)(key)
    return eqx.filter_jit(eqx.filter_vmap(one))(jax.random.split(key, members))


def each(function):
    return jax.jit(jax.vmap(lambda *arguments: function(*arguments)))


def points(dimensions, n=300):
    rng = np.random.default_rng(1)
    return jnp.asarray(3 * rng.normal(size=(n, dimensions))), jnp.asarray(rng.normal(size=(n, 2)))


def test_gradient_and_hessian_are_those_of_the_potential():
    potential, (scores, features) = wild(3), points(3)
    gradient, hessian = each(potential.gradient_and_hessian)(scores, features)
    np.testing.assert_allclose(gradient, each(jax.grad(potential))(scores, features), rtol=1e-9)
    exact = each(jax.hessian(potential))(scores, features)
    np.testing.assert_allclose(hessian, exact, rtol=1e-9, atol=1e-12)


def test_the_jacobian_is_symmetric_and_positive_definite():
    potentials, (scores, features) = wild(3, members=3), points(3)
    jacobian = each(jax.jacfwd(lambda x, f: transport(potentials, x, f)[0]))(scores, features)
    np.testing.assert_allclose(jacobian, jnp.swapaxes(jacobian, 1, 2), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(jacobian).min() > 0.019
    given = each(lambda x, f: transport(potentials, x, f)[1])(scores, features)
    np.testing.assert_allclose(given, jacobian, rtol=1e-9, atol=1e-12)


def test_the_potential_is_convex_in_the_score_and_not_in_the_attributes():
    potential, (scores, features) = wild(2), points(2)
    value = each(potential)
    ends = value(scores, features) + value(scores[::-1], features)
    assert (value((scores + scores[::-1]) / 2, features) < ends / 2 + 1e-12).all()
    ends = value(scores, features) + value(scores, features[::-1])
    below = value(scores, (features + features[::-1]) / 2) < ends / 2
    assert below.any()
    assert not below.all()


def test_the_map_never_turns_a_move_around():
    potential, (scores, features) = wild(2), points(2)
    moved, _ = each(potential.gradient_and_hessian)(scores, features)
    back, _ = each(potential.gradient_and_hessian)(scores[::-1], features)
    assert (((scores - scores[::-1]) * (moved - back)).sum(axis=1) > 0).all()


def test_the_way_back_leads_back_from_near_and_far():
    potentials, (scores, features) = wild(3, members=3), points(3)
    there = each(lambda x, f: transport(potentials, x, f)[0])
    back = each(lambda y, f: transport_back(potentials, y, f))
    for point in (scores, 1000 * scores):
        np.testing.assert_allclose(back(there(point, features), features), point, 1e-7)
        np.testing.assert_allclose(there(back(point, features), features), point, 1e-7)
