"""The networks: layers on a batch, for training and, normalisation folded in, for prediction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unsculpt.devices import on_device
from unsculpt.inputs import Floats

FUNCTIONS = {"relu": jax.nn.relu, "swish": jax.nn.swish}
EPSILON = 1e-5


class Network(eqx.Module):
    """Fully connected layers, (n, f) to (n, outputs).

    With `scale` and `shift` the first layer is followed by batch normalisation. In training that
    takes mean and variance from the batch. For prediction it must not depend on the company an
    event comes in: `folded` puts the statistics of the whole sample in their place, once and for
    the final weights, so no running averages are carried along. What remains is linear and goes
    into the first layer.
    """

    weights: list[Float[Array, "inputs outputs"]]
    biases: list[Float[Array, " outputs"]]
    scale: Float[Array, " outputs"] | None
    shift: Float[Array, " outputs"] | None
    activation: str = eqx.field(static=True)

    @classmethod
    def new(
        cls,
        widths: Sequence[int],
        activation: str,
        *,
        batch_normalisation: bool = False,
        key: PRNGKeyArray,
    ) -> Self:
        """Return an untrained network; weights and biases uniform within 1/√inputs."""
        weights, biases = [], []
        for inputs, outputs in pairwise(widths):
            key, *keys = jax.random.split(key, 3)
            limit = inputs**-0.5
            weights.append(jax.random.uniform(keys[0], (inputs, outputs), "f4", -limit, limit))
            biases.append(jax.random.uniform(keys[1], (outputs,), "f4", -limit, limit))
        if not batch_normalisation:
            return cls(weights, biases, None, None, activation)
        return cls(weights, biases, jnp.ones(widths[1]), jnp.zeros(widths[1]), activation)

    @classmethod
    def plain(cls, weights: list[Floats], biases: list[Floats], activation: str) -> Self:
        """Return a network without normalisation."""
        return cls(weights, biases, None, None, activation)  # type: ignore[arg-type]

    def __call__(self, x: Float[Array, "n f"]) -> Float[Array, "n outputs"]:
        """Evaluate a batch."""
        activate = FUNCTIONS[self.activation]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = (activate(x) if i else x) @ weight + bias
            if i == 0 and self.scale is not None and self.shift is not None:
                x = (x - x.mean(axis=0)) * jax.lax.rsqrt(x.var(axis=0) + EPSILON)
                x = x * self.scale + self.shift
        return x

    def folded(self, correlation: Floats) -> Self:
        """Return the network for prediction.

        Args:
            correlation: (f, f), of the inputs of all training events, which have mean zero and
                variance one: the first layer is linear, so its statistics follow.
        """
        weights, biases = ([np.asarray(w, "f8") for w in ws] for ws in (self.weights, self.biases))
        if self.scale is not None and self.shift is not None:
            variance = np.einsum("fo,fg,go->o", weights[0], correlation, weights[0])
            weights[0] = weights[0] * np.asarray(self.scale) / np.sqrt(variance + EPSILON)
            biases[0] = np.asarray(self.shift, "f8")
        return self.plain(weights, biases, self.activation)


def evaluate(network: Network, features: Floats) -> Floats:
    """Return the network's outputs, (n, outputs)."""
    (outputs,) = on_device(_evaluate, network, features)
    return outputs.T


@eqx.filter_jit
def _evaluate(network: Network, features: Float[Array, "n f"]) -> tuple[Float[Array, "outputs n"]]:
    return (network(features).T,)
