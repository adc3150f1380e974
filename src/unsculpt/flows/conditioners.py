"""Networks that turn protected attributes into the parameters of a flow."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unsculpt.flows.numbers import BLOCKS


class ResidualConditioner(eqx.Module):
    """The paper's conditioner: residual blocks of ReLU layers, one network for each layer.

    The blocks are those of Durkan et al., "Neural spline flows" (arXiv:1906.04032): two linear
    layers, each behind its activation, added to what came in; the second starts near zero.
    """

    first: eqx.nn.Linear
    blocks: list[tuple[eqx.nn.Linear, eqx.nn.Linear]]
    last: eqx.nn.Linear

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        key: PRNGKeyArray,
        width: int = 64,
        blocks: int = BLOCKS,
    ) -> None:
        keys = iter(jax.random.split(key, 2 * blocks + 2))
        self.first = eqx.nn.Linear(features, width, key=next(keys))
        self.blocks = []
        for _ in range(blocks):
            inner = eqx.nn.Linear(width, width, key=next(keys))
            outer = eqx.nn.Linear(width, width, key=next(keys))
            near_zero = 1e-3 * width**0.5 * outer.weight
            self.blocks.append((inner, eqx.tree_at(lambda x: x.weight, outer, near_zero)))
        self.last = eqx.nn.Linear(width, outputs, key=next(keys))

    def __call__(self, features: Float[Array, " f"]) -> Float[Array, " outputs"]:
        """Evaluate at one value of the protected attributes."""
        hidden = _linear(self.first, features)
        for inner, outer in self.blocks:
            hidden = hidden + _linear(outer, jax.nn.relu(_linear(inner, jax.nn.relu(hidden))))
        return _linear(self.last, hidden)


class SmoothConditioner(eqx.Module):
    """Tanh layers, two by default: smooth in the attributes, so few modes are spent on noise.

    The last layer starts near zero, so an untrained flow is close to the identity and a fit that
    sees few events stays close to it.
    """

    layers: list[eqx.nn.Linear]

    def __init__(
        self,
        features: int,
        outputs: int,
        *,
        key: PRNGKeyArray,
        width: int = 32,
        hidden: int = 2,
    ) -> None:
        sizes = [features, *[width] * hidden, outputs]
        # Attributes arrive on [-1, 1]: the first layer spreads its bends over that range.
        scales = [(2.0, 1.0), *[(width**-0.5, 0.0)] * (hidden - 1), (1e-2, 0.0)]
        self.layers = []
        for n_in, n_out, (slope, offset), k in zip(
            sizes[:-1], sizes[1:], scales, jax.random.split(key, hidden + 1), strict=True
        ):
            slope_key, offset_key = jax.random.split(k)
            values = (
                slope * jax.random.normal(slope_key, (n_out, n_in)),
                offset * jax.random.normal(offset_key, (n_out,)),
            )
            linear = eqx.nn.Linear(n_in, n_out, key=k)
            self.layers.append(eqx.tree_at(lambda x: (x.weight, x.bias), linear, values))

    def __call__(self, features: Float[Array, " f"]) -> Float[Array, " outputs"]:
        """Evaluate at one value of the protected attributes."""
        *layers, last = self.layers
        for layer in layers:
            features = jnp.tanh(_linear(layer, features))
        return _linear(last, features)


def _linear(layer: eqx.nn.Linear, x: Float[Array, " n"]) -> Float[Array, " m"]:
    # Under vmap this order makes the product of a batch and a matrix, which XLA runs faster on a
    # CPU than the product of a matrix and a batch that calling the layer makes.
    return x @ layer.weight.T + jnp.asarray(layer.bias)
