import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner


@eqx.filter_jit
def new(kind, *sizes, seed=0, **settings):
    return kind(*sizes, key=jax.random.key(seed), **settings)


@eqx.filter_jit
def evaluate(net, inputs):
    return net(inputs)


def count(module):
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(module, eqx.is_inexact_array)))


def test_residual_conditioner_follows_its_formula():
    net = new(ResidualConditioner, 2, 5, width=7)
    x = np.array([0.3, -1.2], "f4")

    def linear(layer, value):
        return np.asarray(layer.weight) @ value + np.asarray(layer.bias)

    hidden = linear(net.first, x)
    for inner, outer in net.blocks:
        hidden = hidden + linear(outer, np.maximum(linear(inner, np.maximum(hidden, 0)), 0))
    np.testing.assert_allclose(evaluate(net, x), linear(net.last, hidden), atol=1e-5)


def test_residual_conditioner_has_as_many_parameters_as_two_blocks_of_64_need():
    net = new(ResidualConditioner, 1, 25)
    assert count(net) == (64 + 64) + 4 * (64 * 64 + 64) + (64 * 25 + 25)


def test_residual_blocks_start_as_the_identity():
    net = new(ResidualConditioner, 1, 25)
    x = jnp.asarray([0.7])
    # The bias of the second layer remains; its weights are a thousandth.
    assert max(float(abs(outer.weight).max()) for _, outer in net.blocks) <= 1e-3
    assert evaluate(net, x).shape == (25,)


def test_residual_conditioner_agrees_with_nflows():
    torch = pytest.importorskip("torch")
    nets = pytest.importorskip("nflows.nn.nets")
    torch.manual_seed(0)
    theirs = nets.ResidualNet(1, 25, 64, num_blocks=2)
    ours = new(ResidualConditioner, 1, 25)
    assert count(ours) == sum(p.numel() for p in theirs.parameters())

    def take(linear):
        return [jnp.asarray(p.detach().numpy()) for p in (linear.weight, linear.bias)]

    layers = [theirs.initial_layer]
    for block in theirs.blocks:
        layers += block.linear_layers
    layers.append(theirs.final_layer)
    copied = eqx.tree_at(
        lambda net: [
            parameter
            for layer in (net.first, *(x for block in net.blocks for x in block), net.last)
            for parameter in (layer.weight, layer.bias)
        ],
        ours,
        [parameter for layer in layers for parameter in take(layer)],
    )
    x = np.linspace(-3, 3, 101, dtype="f4")[:, None]
    expected = theirs(torch.as_tensor(x)).detach().numpy()
    np.testing.assert_allclose(jax.jit(jax.vmap(copied))(x), expected, atol=1e-5)


def test_smooth_conditioner_starts_near_zero_at_every_value():
    net = new(SmoothConditioner, 1, 29)
    outputs = jax.jit(jax.vmap(net))(np.linspace(-1, 1, 101)[:, None])
    assert float(abs(outputs).max()) < 0.3


def test_smooth_conditioner_depends_on_every_attribute():
    net = new(SmoothConditioner, 3, 29)
    slope = jax.jit(jax.jacobian(net))(np.zeros(3))
    assert np.all(abs(slope).max(axis=0) > 0)


@pytest.mark.parametrize("kind", [ResidualConditioner, SmoothConditioner])
def test_another_key_gives_another_network(kind):
    one, two = (evaluate(new(kind, 1, 25, seed=seed), jnp.ones(1)) for seed in (0, 1))
    assert not np.array_equal(one, two)
