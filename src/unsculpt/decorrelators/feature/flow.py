"""The flow of a feature decorrelator, trained, evaluated and inverted with JAX."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from unsculpt.devices import cores_as_devices, on_device
from unsculpt.fitting import fit
from unsculpt.fitting.parameters import with_parameters
from unsculpt.flows.autoregressive import AutoregressiveFlow
from unsculpt.inputs import Floats


def train(
    x: Floats,
    inputs: Floats,
    which: NDArray[np.int32],
    means: Floats,
    log_widths: Floats,
    *,
    seed: int,
    **how: Any,
) -> tuple[AutoregressiveFlow, Floats]:
    """Train a flow of features, (n, d), given the inputs, (n, f); return it and its losses.

    Args:
        x: the features, in the coordinates of the flow.
        inputs: what the attributes say.
        which: class of each event, 0 for background.
        means: where the base of each class but the first starts, (classes - 1, d).
        log_widths: likewise.
        seed: fixes everything random.
        how: further arguments of the engine.
    """
    cores_as_devices()
    fitted = fit(
        _new(inputs.shape[1], means, log_widths, seed),
        _negative_log_likelihood,
        (x.astype("f4"), inputs.astype("f4"), which),
        seed=seed,
        can_split_batches=True,
        title="Fitting the flow",
        **how,
    )
    return jax.tree.map(lambda leaf: leaf[0], fitted.model), fitted.train_loss[:, 0]


def restore(
    inputs: int, other_classes: int, features: int, parameters: list[NDArray[Any]]
) -> AutoregressiveFlow:
    """Return the flow that has these parameters."""
    others = np.zeros((other_classes, features))
    return with_parameters(parameters, _new, inputs, others, others, 0)


def forward(flow: AutoregressiveFlow, x: Floats, inputs: Floats) -> Floats:
    """Return where features go in the base, (n, d)."""
    (latent,) = on_device(_forward, flow, x, inputs)
    return latent.T


def inverse(flow: AutoregressiveFlow, latent: Floats, inputs: Floats) -> Floats:
    """Return the features that go there, (n, d)."""
    (x,) = on_device(_inverse, flow, latent, inputs)
    return x.T


def log_prob(
    flow: AutoregressiveFlow, x: Floats, inputs: Floats, which: NDArray[np.int32]
) -> Floats:
    """Return the log density of each event in its class."""
    (log_density,) = on_device(_log_prob, flow, x, inputs, which)
    return log_density


def base(flow: AutoregressiveFlow, which: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return mean and width of the base of each event's class."""
    mean, width = flow.base(jnp.asarray(which))
    return np.asarray(mean, float), np.asarray(width, float)


@eqx.filter_jit
def _new(inputs: int, means: Floats, log_widths: Floats, seed: int) -> AutoregressiveFlow:
    """Return an untrained flow with the leading axis of one member."""
    flow = AutoregressiveFlow(
        inputs, jnp.asarray(means, "f4"), jnp.asarray(log_widths, "f4"), key=jax.random.key(seed)
    )
    stacked: AutoregressiveFlow = jax.tree.map(lambda leaf: leaf[None], flow)
    return stacked


def _negative_log_likelihood(
    flow: AutoregressiveFlow, batch: tuple[Array, Array, Array], weight: Array, _: None
) -> Array:
    return -(weight * jax.vmap(flow.log_prob)(*batch)).mean()


@eqx.filter_jit
def _forward(
    flow: AutoregressiveFlow, x: Float[Array, "n d"], inputs: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"]]:
    latent, _ = jax.vmap(flow)(x, inputs)
    return (latent.T,)


@eqx.filter_jit
def _inverse(
    flow: AutoregressiveFlow, latent: Float[Array, "n d"], inputs: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"]]:
    return (jax.vmap(flow.inverse)(latent, inputs).T,)


@eqx.filter_jit
def _log_prob(
    flow: AutoregressiveFlow,
    x: Float[Array, "n d"],
    inputs: Float[Array, "n f"],
    which: Int[Array, " n"],
) -> tuple[Float[Array, " n"]]:
    return (jax.vmap(flow.log_prob)(x, inputs, which),)
