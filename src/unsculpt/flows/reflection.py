"""The paper's reflection: an increasing map from one that may fall."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

Map = Callable[[Float[Array, "..."]], Float[Array, "..."]]


def increasing(transform: Map, low: float, high: float, centre: float) -> Map:
    """Return `transform`, reflected about the base's centre of symmetry if it falls.

    A one-dimensional flow is monotone but may come out decreasing. When its base density is
    symmetric about `centre`, the reflected map fits the data as well and keeps the order of the
    score (Klein and Golling, arXiv:2211.02486, appendix on monotone flows). Rational-quadratic
    splines rise by construction and need none of this.

    Args:
        transform: a monotone map of the score at fixed protected attributes, elementwise.
        low: a score.
        high: a larger score; the two decide the direction.
        centre: where the base density is symmetric, 0.5 for uniform on [0, 1].

    >>> flipped = increasing(lambda s: 1 - s, 0.2, 0.8, centre=0.5)
    >>> float(flipped(jnp.asarray(0.75)))
    0.75
    """
    ends = transform(jnp.asarray([low, high]))
    falls = ends[1] < ends[0]  # an array, so that the direction may differ from event to event

    def rising(score: Array) -> Array:
        value = transform(score)
        return jnp.where(falls, 2 * centre - value, value)

    return rising
