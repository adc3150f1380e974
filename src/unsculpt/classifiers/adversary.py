"""An opponent that reads the protected attributes off the score."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from unsculpt.classifiers.network import Network

COMPONENTS, HIDDEN = 5, 64
RATE = 1e-2  # far above the classifier's, so that it is never far behind


class Adversary(eqx.Module):
    """The distribution of the attributes given the score, as a mixture of normal ones.

    A mixture density network, as in Louppe, Kagan and Cranmer (arXiv:1611.01046) and Shimmin et
    al. (arXiv:1703.03507).
    """

    network: Network
    attributes: int = eqx.field(static=True)

    @classmethod
    def new(cls, scores: int, attributes: int, *, key: PRNGKeyArray) -> Self:
        """Return an untrained one."""
        widths = (scores, HIDDEN, HIDDEN, COMPONENTS * (1 + 2 * attributes))
        return cls(Network.new(widths, "relu", key=key), attributes)

    def log_prob(
        self, scores: Float[Array, "n s"], protected: Float[Array, "n a"]
    ) -> Float[Array, " n"]:
        """Return the log density of each event's attributes."""
        out = self.network(scores).reshape(len(scores), COMPONENTS, 1 + 2 * self.attributes)
        share, mean, log_width = jnp.split(out, [1, 1 + self.attributes], axis=2)
        normal = jax.scipy.stats.norm.logpdf(protected[:, None], mean, jnp.exp(log_width))
        parts = jax.nn.log_softmax(share[..., 0]) + normal.sum(axis=2)
        return jax.scipy.special.logsumexp(parts, axis=1)


@jax.custom_vjp
def reverse_gradient(x: Array, strength: Array) -> Array:
    """Return x; whoever made it learns to make worse, by `strength`, what is made of it."""
    return x


def _forward(x: Array, strength: Array) -> tuple[Array, Array]:
    return x, strength


def _backward(strength: Array, gradient: Array) -> tuple[Array, Array]:
    return -strength * gradient, jnp.zeros_like(strength)


reverse_gradient.defvjp(_forward, _backward)


@cache  # the same object for the same factor: a new one would be compiled anew
def faster_adversary(factor: float) -> optax.GradientTransformation:
    """Return Adam with steps of the adversary that are `factor` times as long."""

    def lengthen(steps: Any, _: Any) -> Any:
        return eqx.tree_at(
            lambda contest: contest.adversary,
            steps,
            replace_fn=lambda adversary: jax.tree.map(lambda step: factor * step, adversary),
        )

    return optax.chain(optax.scale_by_adam(), optax.stateless(lengthen))
