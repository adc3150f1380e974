"""Quantiles as functions of the protected attributes, ordered by construction."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from unsculpt.decorrelators.common.replicas import Counts
from unsculpt.devices import cores_as_devices, on_device
from unsculpt.fitting import Fit, fit
from unsculpt.fitting.parameters import with_parameters
from unsculpt.flows.conditioners import SmoothConditioner
from unsculpt.inputs import Floats

HIDDEN, WIDTH = 3, 64


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
        recipe: str, features: int, start: Float[Array, " q"], *, key: PRNGKeyArray
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


def _before_steps(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the `start` from which a network makes these quantiles, along the last axis."""
    steps = np.maximum(np.diff(quantiles), 1e-3)
    # The inverse of softplus, in a form that does not overflow.
    return np.concatenate([quantiles[..., :1], steps + np.log(-np.expm1(-steps))], axis=-1)


def train(
    recipe: str,
    targets: Floats,
    features: Floats,
    start: Floats,
    quantiles: Floats,
    *,
    members: int,
    counts: Counts | None = None,
    **how: Any,
) -> Fit[QuantileNetwork]:
    """Train an ensemble for each column of targets, one after the other, in one program.

    Args:
        recipe: of the networks.
        targets: where the scores lie, (n, scores).
        features: of the attributes, (n, f).
        start: the inclusive quantiles of each score, (scores, q).
        quantiles: their levels, (q,).
        members: networks for each score.
        counts: how often each of them sees each event, (n, members); None for once.
        how: further arguments of the engine.
    """
    cores_as_devices()
    scores = len(start)
    setting = (
        np.repeat(np.arange(scores), members),
        np.tile(quantiles, (scores * members, 1)).astype("f4"),
    )
    events = targets.astype("f4"), features.astype("f4")
    return fit(
        _new(
            recipe,
            features.shape[1],
            np.repeat(_before_steps(start), members, axis=0).astype("f4"),
            how["seed"],
        ),
        _pinball if counts is None else _resampled,
        events if counts is None else (events, counts),
        settings=setting if counts is None else (setting, np.tile(np.arange(members), scores)),
        can_split_batches=True,
        title="Fitting the quantiles" if counts is None else "Fitting their replicas",
        **how,
    )


@eqx.filter_jit
def _new(recipe: str, features: int, start: NDArray[np.float32], seed: int) -> QuantileNetwork:
    """Return untrained networks, stacked on the leading axis of every array, as `start` is."""

    def one(start: Array, key: PRNGKeyArray) -> QuantileNetwork:
        return QuantileNetwork.new(recipe, features, start, key=key)

    networks: QuantileNetwork = eqx.filter_vmap(one)(
        start, jax.random.split(jax.random.key(seed), len(start))
    )
    return networks


def _pinball(
    network: QuantileNetwork,
    batch: tuple[Array, Array],
    weight: Array,
    setting: tuple[Array, Array],
) -> Array:
    """Return the loss that is least where the level's share of events lies below."""
    scores, features = batch
    score, levels = setting
    above = scores[:, score][:, None] - jax.vmap(network)(features)
    loss = jnp.maximum(levels * above, (levels - 1) * above)
    return (weight[:, None] * loss).mean()


def _resampled(
    network: QuantileNetwork,
    batch: tuple[tuple[Array, Array], Array],
    weight: Array,
    setting: tuple[tuple[Array, Array], Array],
) -> Array:
    events, counts = batch
    which, member = setting
    return _pinball(network, events, weight * counts[:, member], which)


def restore(
    recipe: str, features: int, quantiles: int, parameters: list[NDArray[Any]]
) -> QuantileNetwork:
    """Return the networks that have these parameters."""
    start = np.zeros((len(parameters[0]), quantiles), "f4")
    return with_parameters(parameters, _new, recipe, features, start, 0)


def evaluate(networks: QuantileNetwork, features: Floats) -> Floats:
    """Return the mean of the members' quantiles, (q, n)."""
    (quantiles,) = on_device(_mean, networks, features)
    return quantiles


@eqx.filter_jit
def _mean(networks: QuantileNetwork, features: Float[Array, "n f"]) -> tuple[Float[Array, "q n"]]:
    """Return the mean of the members: that of increasing numbers increases."""

    def member(network: QuantileNetwork) -> Array:
        return jax.vmap(network)(features)

    return (eqx.filter_vmap(member)(networks).mean(axis=0).T,)
