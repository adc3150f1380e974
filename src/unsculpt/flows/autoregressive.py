"""A conditional flow of many variables: autoregressive splines between data and normal noise."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int, PRNGKeyArray

from unsculpt.flows.conditioners import ResidualConditioner
from unsculpt.flows.splines import spline_from

LAYERS, BINS, TAIL_BOUND = 4, 10, 3.0
# Widths, heights and inner slopes; the outer slopes are one, as is that of the tails.
NUMBERS = 3 * BINS - 1
# A bin is at least a thousandth of the interval, as in nflows, which the paper uses.
SPLINE = {"interval": TAIL_BOUND, "min_width": 2e-3 * TAIL_BOUND}


class AutoregressiveLayer(eqx.Module):
    """Moves each variable along a spline set by the attributes and the variables before it.

    The masks are those of Germain et al. (arXiv:1502.03509) in a residual network: what FlowJAX's
    autoregressive layer does with a plain one.
    """

    conditioner: ResidualConditioner
    variables: int = eqx.field(static=True)

    def __init__(self, variables: int, attributes: int, *, key: PRNGKeyArray) -> None:
        self.variables = variables
        self.conditioner = ResidualConditioner(variables + attributes, variables * NUMBERS, key=key)

    def __call__(
        self, x: Float[Array, " d"], attributes: Float[Array, " f"]
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Return the moved variables and the log of the volume's change."""
        y, log_slopes = jax.vmap(_forward)(self._knots(x, attributes), x)
        return y, log_slopes.sum()

    def inverse(self, y: Float[Array, " d"], attributes: Float[Array, " f"]) -> Float[Array, " d"]:
        """Return the variables that were moved to `y`, found one after the other."""

        def find(i: int, x: Array) -> Array:
            found = jax.vmap(_backward)(self._knots(x, attributes), y)
            return x.at[i].set(found[i])

        x: Array = jax.lax.fori_loop(0, self.variables, find, jnp.zeros_like(y))
        return x

    def _knots(self, x: Array, attributes: Array) -> Float[Array, "d numbers"]:
        knots = self._masked()(jnp.concatenate([x, attributes]))
        return knots.reshape(self.variables, NUMBERS)

    def _masked(self) -> ResidualConditioner:
        """Return the network without the weights by which a variable would see itself."""
        width, inputs = self.conditioner.first.weight.shape
        # Rank -1 sees, or is, the attributes alone; a variable sees the ranks below its own.
        own = np.arange(self.variables)
        first = np.append(own, np.full(inputs - self.variables, -1))
        hidden = np.arange(width)[:, None] % self.variables - 1
        last = np.repeat(own, NUMBERS)[:, None]
        weights = _weights(self.conditioner)
        inner = [hidden >= hidden.T] * (len(weights) - 2)
        masks = [hidden >= first, *inner, last > hidden.T]
        masked = [jnp.where(m, w, 0) for m, w in zip(masks, weights, strict=True)]
        net: ResidualConditioner = eqx.tree_at(_weights, self.conditioner, masked)
        return net


class AutoregressiveFlow(eqx.Module):
    """Maps variables, given attributes, to normal ones: standard for the first class.

    Four layers, the order of the variables reversed after each, ten bins, two residual blocks of
    64, identity beyond three: the paper's (Klein and Golling, arXiv:2211.02486) for features.

    Attributes:
        layers: from the data to the noise, stacked on the leading axis of every array.
        means: (classes - 1, d), where the base has the further classes.
        log_widths: (classes - 1, d), of those.
    """

    layers: AutoregressiveLayer
    means: Float[Array, "others d"]
    log_widths: Float[Array, "others d"]

    def __init__(
        self,
        attributes: int,
        means: Float[Array, "others d"],
        log_widths: Float[Array, "others d"],
        *,
        key: PRNGKeyArray,
    ) -> None:
        def layer(key: PRNGKeyArray) -> AutoregressiveLayer:
            return AutoregressiveLayer(means.shape[1], attributes, key=key)

        self.layers = eqx.filter_vmap(layer)(jax.random.split(key, LAYERS))
        self.means, self.log_widths = means, log_widths

    def __call__(
        self, x: Float[Array, " d"], attributes: Float[Array, " f"]
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Return the latent variables and the log of the volume's change."""

        # A scan compiles one layer instead of four.
        def move(at: tuple[Array, Array], layer: AutoregressiveLayer) -> Any:
            x, total = at
            y, log_volume = layer(x, attributes)
            return (y[::-1], total + log_volume), None

        (latent, log_volume), _ = jax.lax.scan(move, (x, jnp.zeros((), x.dtype)), self.layers)
        return latent, log_volume

    def inverse(
        self, latent: Float[Array, " d"], attributes: Float[Array, " f"]
    ) -> Float[Array, " d"]:
        """Return the variables at a latent point."""

        def undo(y: Array, layer: AutoregressiveLayer) -> Any:
            return layer.inverse(y[::-1], attributes), None

        return jax.lax.scan(undo, latent, self.layers, reverse=True)[0]

    def log_prob(
        self, x: Float[Array, " d"], attributes: Float[Array, " f"], which: Int[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the log density of variables in one class, or in each of many."""
        latent, log_volume = self(x, attributes)
        return norm.logpdf(latent, *self.base(which)).sum(axis=-1) + log_volume

    def base(self, which: Int[Array, "*n"]) -> tuple[Float[Array, "*n d"], Float[Array, "*n d"]]:
        """Return mean and width of the base in one class, or in many."""
        standard = jnp.zeros((1, self.means.shape[1]))
        means, log_widths = (
            jnp.concatenate([standard, others])[which] for others in (self.means, self.log_widths)
        )
        return means, jnp.exp(log_widths)


def _weights(net: ResidualConditioner) -> list[Array]:
    layers = [net.first, *(layer for block in net.blocks for layer in block), net.last]
    return [layer.weight for layer in layers]


def _spline(numbers: Float[Array, " numbers"]) -> Any:
    # Zero is a slope of one.
    return spline_from(jnp.insert(numbers, np.array([2 * BINS, NUMBERS]), 0.0), BINS, **SPLINE)


def _forward(numbers: Array, x: Array) -> tuple[Array, Array]:
    y, log_slope = _spline(numbers).transform_and_log_det(x)
    return y, log_slope


def _backward(numbers: Array, y: Array) -> Array:
    x: Array = _spline(numbers).inverse(y)
    return x
