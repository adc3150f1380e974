"""Quantiles as functions of the protected attributes, ordered by construction."""

from __future__ import annotations

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from unsculpt.flows import SmoothConditioner

HIDDEN, WIDTH = 3, 64
Recipe = Literal["smooth", "paper"]


class QuantileNetwork(eqx.Module):
    """The lowest quantile and the steps up to the others, so that they cannot cross.

    Attributes:
        conditioner: three hidden layers of 64: tanh in the smooth recipe, ReLU in the paper's.
        start: what it adds to, the inclusive quantiles; not trained.
    """

    conditioner: SmoothConditioner | eqx.nn.MLP
    start: Float[Array, " q"]

    @staticmethod
    def new(
        recipe: Recipe, features: int, start: Float[Array, " q"], *, key: PRNGKeyArray
    ) -> QuantileNetwork:
        """Return an untrained network."""
        conditioner: SmoothConditioner | eqx.nn.MLP
        if recipe == "paper":
            conditioner = eqx.nn.MLP(features, len(start), WIDTH, HIDDEN, jax.nn.relu, key=key)
        else:
            conditioner = SmoothConditioner(
                features, len(start), key=key, width=WIDTH, hidden=HIDDEN
            )
        return QuantileNetwork(conditioner, start)

    def __call__(self, features: Float[Array, " f"]) -> Float[Array, " q"]:
        """Return the quantiles at one value of the protected attributes, increasing."""
        out = jax.lax.stop_gradient(self.start) + self.conditioner(features)
        return jnp.cumsum(jnp.concatenate([out[:1], jax.nn.softplus(out[1:])]))


def before_steps(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the `start` from which a network makes these quantiles, along the last axis."""
    steps = np.maximum(np.diff(quantiles), 1e-3)
    # The inverse of softplus, in a form that does not overflow.
    return np.concatenate([quantiles[..., :1], steps + np.log(-np.expm1(-steps))], axis=-1)


@eqx.filter_jit
def new_networks(
    recipe: Recipe, features: int, start: NDArray[np.float32], seed: int
) -> QuantileNetwork:
    """Return untrained networks, stacked on the leading axis of every array, as `start` is."""

    def one(start: Array, key: PRNGKeyArray) -> QuantileNetwork:
        return QuantileNetwork.new(recipe, features, start, key=key)

    networks: QuantileNetwork = eqx.filter_vmap(one)(
        start, jax.random.split(jax.random.key(seed), len(start))
    )
    return networks


def pinball(
    network: QuantileNetwork,
    batch: tuple[Array, Array],
    weight: Array,
    setting: tuple[Array, Array],
) -> Array:
    """The loss that is least where the level's share of events lies below."""
    scores, features = batch
    score, levels = setting
    above = scores[:, score][:, None] - jax.vmap(network)(features)
    loss = jnp.maximum(levels * above, (levels - 1) * above)
    return (weight[:, None] * loss).mean()


def some_of(networks: QuantileNetwork, rows: slice) -> QuantileNetwork:
    """Return some of the stacked networks."""
    arrays, rest = eqx.partition(networks, eqx.is_inexact_array)
    chosen: QuantileNetwork = eqx.combine(jax.tree.map(lambda leaf: leaf[rows], arrays), rest)
    return chosen


def leaves(networks: QuantileNetwork) -> list[NDArray[np.float32]]:
    """Return the arrays of stacked networks, as `restored` takes them."""
    return list(map(np.asarray, jax.tree.leaves(eqx.filter(networks, eqx.is_inexact_array))))


def restored(
    recipe: Recipe, features: int, quantiles: int, arrays: list[NDArray[np.float32]]
) -> QuantileNetwork:
    """Return stacked networks with these arrays."""
    start = np.zeros((len(arrays[0]), quantiles), "f4")
    shapes = eqx.filter_eval_shape(new_networks, recipe, features, start, 0)
    wanted, rest = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    structure = jax.tree.structure(wanted)
    networks: QuantileNetwork = eqx.combine(jax.tree.unflatten(structure, arrays), rest)
    return networks
