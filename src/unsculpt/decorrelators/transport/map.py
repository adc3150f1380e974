"""A fitted convex potential flow: it takes vectors to their base, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.linalg import helmert

from unsculpt.devices import cores_as_devices, on_device
from unsculpt.fitting import fit
from unsculpt.fitting.parameters import parameters_of, with_parameters
from unsculpt.flows.convex import ConvexPotential, inverse_transport, transport
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays

# How close to a target training gets, in how many steps at most: single precision allows no more.
FOUND, NEWTON_STEPS = 1e-3, 30


@dataclass(frozen=True)
class TransportMap:
    """The gradient of the mean of an ensemble of convex potentials.

    Attributes:
        potentials: the members, stacked on the leading axis of every array.
        train_loss: (epochs, members).
    """

    potentials: ConvexPotential
    train_loss: Floats

    @classmethod
    def learn(
        cls,
        vectors: Floats,
        features: Floats,
        weight: Floats,
        *,
        target: Floats | None = None,
        simplex: bool = False,
        members: int,
        seed: int,
        **training: Any,
    ) -> TransportMap:
        """Learn to move the vectors, (n, d), given the features, (n, f).

        By maximum likelihood to a standard normal, or to the log-ratios of vectors that are spread
        evenly over the simplex; by optimal transport to a sample of as many vectors with the same
        weights.
        """
        cores_as_devices()
        by_likelihood = _to_simplex if simplex else _to_normal
        data = (vectors, features) if target is None else (vectors, features, target)
        fitted = fit(
            _new_potentials(vectors.shape[1], features.shape[1], members, seed),
            by_likelihood if target is None else _semi_dual,
            tuple(column.astype("f4") for column in data),
            seed=seed,
            weight=weight,
            can_split_batches=True,
            title="Fitting the potential",
            **training,
        )
        return cls(fitted.model, fitted.train_loss)

    def forward(self, vectors: Floats, features: Floats) -> tuple[Floats, Floats]:
        """Return where vectors go, (n, d), and the log of how the map stretches volumes."""
        moved, log_volume = on_device(_evaluate, self.potentials, vectors, features)
        return moved.T, log_volume

    def inverse(self, moved: Floats, features: Floats) -> Floats:
        """Return the vectors that go there."""
        (vectors,) = on_device(_invert, self.potentials, moved, features)
        return vectors.T

    def state(self, name: str) -> Arrays:
        """Return what was learned, as arrays."""
        arrays = {f"{name}.{i}": a for i, a in enumerate(parameters_of(self.potentials))}
        return arrays | {f"{name}.train_loss": self.train_loss}

    @classmethod
    def restore(cls, arrays: Arrays, name: str, width: int) -> TransportMap:
        """Take back what `state` gave, of a map with `width` features."""
        loss = arrays[f"{name}.train_loss"]
        dimensions = len(arrays["centre"])
        found = sum(key.startswith(f"{name}.") for key in arrays) - 1  # but for the loss
        potentials = with_parameters(
            [arrays[f"{name}.{i}"] for i in range(found)],
            _new_potentials,
            dimensions,
            width,
            loss.shape[1],
            0,
        )
        return cls(potentials, loss)


@eqx.filter_jit
def _new_potentials(dimensions: int, features: int, members: int, seed: int) -> ConvexPotential:
    """Return untrained potentials, stacked on the leading axis of every array."""

    def member(key: PRNGKeyArray) -> ConvexPotential:
        return ConvexPotential(dimensions, features, key=key)

    keys = jax.random.split(jax.random.key(seed), members)
    potentials: ConvexPotential = eqx.filter_vmap(member)(keys)
    return potentials


def _to_normal(
    potential: ConvexPotential, batch: tuple[Array, Array], weight: Array, _: None
) -> Array:
    moved, jacobian = jax.vmap(potential.gradient_and_hessian)(*batch)
    log_density: Array = jnp.linalg.slogdet(jacobian)[1] - (moved**2).sum(axis=1) / 2
    return -jnp.mean(weight * log_density)


def _to_simplex(
    potential: ConvexPotential, batch: tuple[Array, Array], weight: Array, _: None
) -> Array:
    moved, jacobian = jax.vmap(potential.gradient_and_hessian)(*batch)
    # The even density in the plane of the log-ratios is the product of the probabilities.
    probabilities = jax.nn.log_softmax(moved @ helmert(moved.shape[1] + 1), axis=1)
    log_density: Array = jnp.linalg.slogdet(jacobian)[1] + probabilities.sum(axis=1)
    return -jnp.mean(weight * log_density)


def _semi_dual(
    potential: ConvexPotential, batch: tuple[Array, Array, Array], weight: Array, _: None
) -> Array:
    """Return the dual of transport: the potential of vectors and its conjugate of the target.

    The conjugate at a target is a maximum over points, so its gradient is that at the best point
    held fixed: the one that the map takes to the target.
    """
    vectors, features, target = batch
    # Batches are in random order: the target of another event knows nothing of these features.
    target, target_weight = jnp.roll(target, 1, axis=0), jnp.roll(weight, 1)
    held = jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf)[None], potential)
    best = jax.vmap(lambda y, f: inverse_transport(held, y, f, FOUND, NEWTON_STEPS))(
        target, features
    )
    missed = jnp.linalg.norm(
        jax.vmap(lambda x, f: transport(held, x, f)[0])(best, features) - target, axis=1
    )
    value = jax.vmap(potential)
    conjugate = (best * target).sum(axis=1) - value(best, features)
    dual = weight * (value(vectors, features) + target_weight * conjugate)
    # Away from the maximum there is no lower bound, and the training would look for such points.
    return jnp.mean(jnp.where(missed < 2 * FOUND * (1 + jnp.linalg.norm(target, axis=1)), dual, 0))


@eqx.filter_jit
def _evaluate(
    potentials: ConvexPotential, vectors: Float[Array, "n d"], features: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"], Float[Array, " n"]]:
    moved, jacobian = jax.vmap(lambda x, f: transport(potentials, x, f))(vectors, features)
    return moved.T, jnp.linalg.slogdet(jacobian)[1]


@eqx.filter_jit
def _invert(
    potentials: ConvexPotential, moved: Float[Array, "n d"], features: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"]]:
    return (jax.vmap(lambda y, f: inverse_transport(potentials, y, f))(moved, features).T,)
