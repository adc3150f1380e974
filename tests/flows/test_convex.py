import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unsculpt.flows.convex import ConvexPotential, inverse_transport, transport


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def wild(dimensions, members=None):
    """A potential with parameters far from those it starts with, or an ensemble of them."""
    shapes = eqx.filter_eval_shape(ConvexPotential, dimensions, 2, key=jax.random.key(0))
    rng, stack = np.random.default_rng(dimensions), () if members is None else (members,)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=stack + leaf.shape)), shapes)


def each(function, potential, *columns):
    """Call `function(potential, ...)` on every row."""
    return eqx.filter_jit(lambda p, *rows: jax.vmap(lambda *row: function(p, *row))(*rows))(
        potential, *columns
    )


def images(potentials, score, features):
    return transport(potentials, score, features)[0]


def points(dimensions, n=300):
    rng = np.random.default_rng(1)
    return jnp.asarray(3 * rng.normal(size=(n, dimensions))), jnp.asarray(rng.normal(size=(n, 2)))


def test_gradient_and_hessian_are_those_of_the_potential():
    potential, events = wild(3), points(3)
    gradient, hessian = each(lambda p, x, f: p.gradient_and_hessian(x, f), potential, *events)
    exact = each(lambda p, x, f: (jax.grad(p)(x, f), jax.hessian(p)(x, f)), potential, *events)
    np.testing.assert_allclose(gradient, exact[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hessian, exact[1], rtol=1e-9, atol=1e-9)


def test_the_jacobian_is_symmetric_and_positive_definite():
    potentials, events = wild(3, members=3), points(3)
    jacobian = each(jax.jacfwd(images, argnums=1), potentials, *events)
    np.testing.assert_allclose(jacobian, np.swapaxes(jacobian, 1, 2), rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(jacobian).min() > 0.019
    given = each(lambda p, x, f: transport(p, x, f)[1], potentials, *events)
    np.testing.assert_allclose(given, jacobian, rtol=1e-9, atol=1e-9)


def test_the_potential_is_convex_in_the_score_and_not_in_the_attributes():
    potential, (scores, features) = wild(3), points(3)
    rows = [
        (scores, features),
        (scores[::-1], features),
        ((scores + scores[::-1]) / 2, features),
        (scores, features[::-1]),
        (scores, (features + features[::-1]) / 2),
    ]
    columns = (jnp.concatenate(column) for column in zip(*rows, strict=True))
    values = each(lambda p, x, f: p(x, f), potential, *columns).reshape(5, -1)
    here, other_score, between, other_features, between_features = values
    assert (between < (here + other_score) / 2 + 1e-12).all()
    below = between_features < (here + other_features) / 2
    assert below.any()
    assert not below.all()


def test_the_map_never_turns_a_move_around():
    potentials, (scores, features) = wild(3, members=3), points(3)
    moved = each(
        images, potentials, jnp.concatenate([scores, scores[::-1]]), jnp.tile(features, (2, 1))
    )
    moves = moved[: len(scores)] - moved[len(scores) :]
    assert ((scores - scores[::-1]) * moves).sum(axis=1).min() >= 0


def test_the_way_back_leads_back_from_near_and_far():
    potentials, (scores, features) = wild(3, members=3), points(3)
    scores, features = jnp.concatenate([scores, 1000 * scores]), jnp.tile(features, (2, 1))
    back = each(inverse_transport, potentials, scores, features)
    np.testing.assert_allclose(each(images, potentials, back, features), scores, rtol=1e-6)
