"""Maps that keep the order of vectors: gradients of convex functions."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.nn import sigmoid, softplus
from jaxtyping import Array, Float, PRNGKeyArray

from unsculpt.flows.conditioners import SmoothConditioner

WIDTH = 32
FLATTEST = 0.02  # the least curvature of the potential: what makes the map invertible
CLOSE, MOST_STEPS = 1e-11, 200

State = tuple[Array, Array, Array, Array, Array]


class ConvexPotential(eqx.Module):
    """A partially input-convex network: convex in the score, arbitrary in the attributes.

    Two softplus layers that both see the score, joined by weights that cannot be negative, on top
    of a parabola; the attributes move the parabola and the offsets and strengths of the units
    (Amos, Xu and Kolter, arXiv:1609.07152). Its gradient in the score is a convex potential flow
    (Huang et al., arXiv:2012.05942): the Hessian is the Jacobian of that map, symmetric and
    positive definite whatever the parameters are.

    Attributes:
        conditioner: from the attributes to the numbers that depend on them.
        first: (width, d), directions of the first layer.
        second: (width, d), directions of the second.
        joint: (width, width), from the first to the second; a softplus makes it positive.
        offsets: (2, width), of the units.
    """

    conditioner: SmoothConditioner
    first: Float[Array, "w d"]
    second: Float[Array, "w d"]
    joint: Float[Array, "w w"]
    offsets: Float[Array, "2 w"]

    def __init__(self, dimensions: int, features: int, *, key: PRNGKeyArray) -> None:
        keys = jax.random.split(key, 5)
        outputs = dimensions**2 + dimensions + 3 * WIDTH
        self.conditioner = SmoothConditioner(features, outputs, key=keys[0])
        self.first = jax.random.normal(keys[1], (WIDTH, dimensions))
        self.second = jax.random.normal(keys[2], (WIDTH, dimensions))
        self.joint = jax.random.normal(keys[3], (WIDTH, WIDTH)) - 2
        self.offsets = jax.random.normal(keys[4], (2, WIDTH))

    def __call__(self, score: Float[Array, " d"], features: Float[Array, " f"]) -> Float[Array, ""]:
        """Return the potential at one score."""
        parabola, shift, strength, _, outer = self._layers(score, features)
        return strength @ softplus(outer) + score @ parabola @ score / 2 + shift @ score

    def gradient_and_hessian(
        self, score: Float[Array, " d"], features: Float[Array, " f"]
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """Return where the map takes one score, and the map's Jacobian.

        Written out: a third of the time that JAX takes to differentiate twice.
        """
        parabola, shift, strength, inner, outer = self._layers(score, features)
        one, two = sigmoid(inner), sigmoid(outer)
        joint = softplus(self.joint) / WIDTH
        slopes = (one * self.first.T) @ joint.T + self.second.T  # of the second layer, (d, width)
        pull = strength * two
        gradient = slopes @ pull + parabola @ score + shift
        bend = (self.first.T * (pull @ joint) * one * (1 - one)) @ self.first
        hessian = (slopes * pull * (1 - two)) @ slopes.T + bend + parabola
        return gradient, hessian

    def _layers(self, score: Array, features: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return the parabola's matrix and shift, the units' strengths, and what enters them."""
        d = len(score)
        stretch, shift, units = jnp.split(self.conditioner(features), [d * d, d * d + d])
        stretch = jnp.eye(d) + stretch.reshape(d, d)
        parabola = stretch.T @ stretch + FLATTEST * jnp.eye(d)
        move_one, move_two, strength = units.reshape(3, WIDTH)
        inner = score @ self.first.T + self.offsets[0] + move_one
        joined = softplus(inner) @ softplus(self.joint).T / WIDTH
        outer = joined + score @ self.second.T + self.offsets[1] + move_two
        return parabola, shift, jnp.exp(strength) / WIDTH, inner, outer


def transport(
    potentials: ConvexPotential, score: Float[Array, " d"], features: Float[Array, " f"]
) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Map one score by the mean of an ensemble: return where it goes, and the Jacobian.

    The mean of convex functions is convex, so the ensemble is a convex potential flow too.
    """

    def member(potential: ConvexPotential) -> tuple[Array, Array]:
        return potential.gradient_and_hessian(score, features)

    gradients, hessians = eqx.filter_vmap(member)(potentials)
    return gradients.mean(axis=0), hessians.mean(axis=0)


def inverse_transport(
    potentials: ConvexPotential,
    moved: Float[Array, " d"],
    features: Float[Array, " f"],
    close: float = CLOSE,
    most_steps: int = MOST_STEPS,
) -> Float[Array, " d"]:
    """Return the score that `transport` takes to `moved`, by Newton's method.

    A step that does not come closer is halved: with a positive definite Jacobian one that is
    short enough does, so this ends from any start.
    """

    def away(score: Array) -> tuple[Array, Array, Array]:
        reached, jacobian = transport(potentials, score, features)
        left = moved - reached
        return jnp.linalg.norm(left), score, jnp.linalg.solve(jacobian, left)

    def step(state: State) -> State:
        distance, score, direction, size, steps = state
        tried = away(score + size * direction)
        closer = tried[0] < distance
        distance, score, direction = (
            jnp.where(closer, new, old) for new, old in zip(tried, state[:3], strict=True)
        )
        size = jnp.where(closer, jnp.minimum(2 * size, 1), size / 2)
        return distance, score, direction, size, steps + 1

    def far(state: State) -> Array:
        distance, *_, steps = state
        return jnp.logical_and(distance > close * (1 + jnp.linalg.norm(moved)), steps < most_steps)

    start = (*away(jnp.zeros_like(moved)), jnp.ones(()), jnp.zeros((), int))
    _, score, *_ = jax.lax.while_loop(far, step, start)
    return score
