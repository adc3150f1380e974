"""Training many classifiers that differ in strength and seed only: one program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from unsculpt.classifiers.adversary import RATE, Adversary, faster_adversary
from unsculpt.classifiers.network import Network
from unsculpt.classifiers.objective import Contest, Objective
from unsculpt.classifiers.recipe import Recipe
from unsculpt.classifiers.sample import Sample
from unsculpt.devices import cores_as_devices
from unsculpt.fitting import ADAM, fit
from unsculpt.penalties import moment_decomposition

# What models that train at the same time may take, in bytes; more of them take turns. A penalty
# on all pairs of n background events holds about four n × n matrices for each model, and the
# layers with their gradients about four kilobytes for each event of a batch.
MEMORY = 2**32
PAIR_BYTES, EVENT_BYTES = 16, 4096
# The adversary first learns to read the score of a classifier that does not mind.
UNOPPOSED = 0.2


@dataclass(frozen=True)
class Trained:
    """One classifier and its loss in every epoch."""

    network: Network
    train_loss: NDArray[np.float64]


def train(
    recipe: Recipe, alphas: Sequence[float], seeds: Sequence[int], sample: Sample
) -> list[Trained]:
    """Train a classifier for each strength and its seed, as many at a time as `MEMORY` allows."""
    cores_as_devices()
    batch_size = min(recipe.batch_size, len(sample.label))
    background = _room_for_background(batch_size, float((sample.label == 0).mean()))
    pairs = background**2 if recipe.penalty not in (None, moment_decomposition) else 0
    each = EVENT_BYTES * batch_size + PAIR_BYTES * pairs
    turns = min(len(seeds), math.ceil(len(seeds) * each / MEMORY))
    objective = Objective(recipe.penalty, recipe.options, background, recipe.heads)
    trained: list[Trained] = []
    for rows in np.array_split(np.arange(len(seeds)), turns):
        trained += _train_together(
            recipe, objective, np.take(alphas, rows), np.take(seeds, rows), sample
        )
    return trained


def _train_together(
    recipe: Recipe,
    objective: Objective,
    alphas: NDArray[np.floating],
    seeds: NDArray[np.integer],
    sample: Sample,
) -> list[Trained]:
    attributes = sample.protected if recipe.protects else None
    model = _new_contests(
        recipe,
        sample.features.shape[1],
        recipe.heads * (len(sample.classes) - 1),
        0 if attributes is None else attributes.shape[1],
        jnp.stack([jax.random.key(int(seed)) for seed in seeds]),
    )
    data = (
        sample.features.astype("f4"),
        sample.label.astype("i4"),
        None if attributes is None else attributes.astype("f4"),
    )
    alphas = alphas.astype("f4")
    unopposed = round(UNOPPOSED * recipe.epochs) if recipe.adversary else 0
    losses = []
    for epochs, strength in ((unopposed, 0 * alphas), (recipe.epochs - unopposed, alphas)):
        if epochs:
            fitted = fit(
                model,
                objective,
                data,
                epochs=epochs,
                batch_size=recipe.batch_size,
                learning_rate=recipe.learning_rate,
                seed=seeds,
                weight=sample.weight,
                settings=strength,
                can_split_batches=not (recipe.decorrelates or recipe.batch_normalisation),
                optimiser=faster_adversary(RATE / recipe.learning_rate)
                if recipe.adversary
                else ADAM,
                title="Training",
            )
            model = fitted.model
            losses.append(fitted.train_loss)
    networks = jax.tree.map(np.asarray, model.network)
    correlation = sample.features.T @ sample.features / len(sample.features)
    return [
        Trained(jax.tree.map(lambda x, i=i: x[i], networks).folded(correlation), loss)
        for i, loss in enumerate(np.concatenate(losses).T)
    ]


@eqx.filter_jit
def _new_contests(
    recipe: Recipe, features: int, scores: int, attributes: int, keys: PRNGKeyArray
) -> Contest:
    """Return untrained classifiers, stacked on the leading axis of every array."""

    def member(key: PRNGKeyArray) -> Contest:
        network = Network.new(
            (features, *recipe.hidden, scores),
            recipe.activation,
            batch_normalisation=recipe.batch_normalisation,
            key=key,
        )
        if not recipe.adversary:
            return Contest(network)
        # Not the network's key: with and without an adversary it starts the same.
        return Contest(network, Adversary.new(scores, attributes, key=jax.random.fold_in(key, 1)))

    contests: Contest = eqx.filter_vmap(member)(keys)
    return contests


def _room_for_background(batch_size: int, share: float) -> int:
    """Return a number of events that a random batch exceeds less than once in a billion."""
    deviation = math.sqrt(batch_size * share * (1 - share))
    return min(batch_size, math.ceil(batch_size * share + 6 * deviation))
