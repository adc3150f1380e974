"""Ensembles of flows, trained and evaluated with JAX."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from unsculpt.decorrelators.common.replicas import Counts
from unsculpt.devices import cores_as_devices, on_device
from unsculpt.fitting import Fit, fit
from unsculpt.fitting.parameters import with_parameters
from unsculpt.flows.spline_flow import SplineFlow
from unsculpt.inputs import Floats


def train(
    recipe: str,
    levels: Floats,
    features: Floats,
    *,
    members: int,
    seed: int,
    counts: Counts | None = None,
    **how: Any,
) -> Fit[SplineFlow]:
    """Train an ensemble for each column of levels, one after the other, in one program.

    With counts, (n, members), each member sees an event as often as its column says.
    """
    cores_as_devices()
    scores = levels.shape[1]
    score = np.repeat(np.arange(scores), members)
    events = levels.astype("f4"), features.astype("f4")
    return fit(
        _new(recipe, features.shape[1], int(scores * members), seed),
        _negative_log_likelihood if counts is None else _resampled,
        events if counts is None else (events, counts),
        seed=seed,
        orders=members,
        settings=score if counts is None else (score, np.tile(np.arange(members), scores)),
        can_split_batches=True,
        title="Fitting the flow" if counts is None else "Fitting its replicas",
        **how,
    )


def restore(recipe: str, features: int, parameters: list[NDArray[Any]]) -> SplineFlow:
    """Return the flows that have these parameters."""
    return with_parameters(parameters, _new, recipe, features, len(parameters[0]), 0)


def evaluate(flows: SplineFlow, level: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Return CDF and log density of every member, (members, n)."""
    cdf, log_density = on_device(_evaluate, flows, level, features)
    return cdf, log_density


@eqx.filter_jit
def _new(recipe: str, features: int, members: int, seed: int) -> SplineFlow:
    """Return untrained flows, stacked on the leading axis of every array."""

    def member(key: PRNGKeyArray) -> SplineFlow:
        if recipe == "paper":
            return SplineFlow.paper(features, key=key)
        return SplineFlow.smooth(features, key=key)

    flows: SplineFlow = eqx.filter_vmap(member)(jax.random.split(jax.random.key(seed), members))
    return flows


def _negative_log_likelihood(
    flow: SplineFlow, batch: tuple[Array, Array], weight: Array, score: Array
) -> Array:
    scores, features = batch
    _, log_density = jax.vmap(flow)(scores[:, score], features)
    return -(weight * log_density).mean()


def _resampled(
    flow: SplineFlow,
    batch: tuple[tuple[Array, Array], Array],
    weight: Array,
    setting: tuple[Array, Array],
) -> Array:
    events, counts = batch
    score, member = setting
    return _negative_log_likelihood(flow, events, weight * counts[:, member], score)


@eqx.filter_jit
def _evaluate(
    flows: SplineFlow, score: Float[Array, " n"], features: Float[Array, "n f"]
) -> tuple[Float[Array, "members n"], Float[Array, "members n"]]:
    def member(flow: SplineFlow) -> tuple[Array, Array]:
        return jax.vmap(flow)(score, features)

    cdf, log_density = eqx.filter_vmap(member)(flows)
    return cdf, log_density
