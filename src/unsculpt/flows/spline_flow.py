"""A conditional flow of one variable on [0, 1], increasing by construction."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid, softplus
from jaxtyping import Array, Float, PRNGKeyArray

from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.flows.numbers import BINS, END, PLACES
from unsculpt.flows.splines import spline_from

NUMBERS = 3 * BINS + 1  # of a spline: widths, heights and slopes


class SplineFlow(eqx.Module):
    """Maps a score on [0, 1] to its conditional CDF, uniform on [0, 1].

    Attributes:
        conditioners: one for each layer; the paper's recipe has three, each moving a spline.
        shift: whether the first layer shifts and stretches the logit before its spline, and its
            two ends once more. A tagger's response moves mostly so, and four numbers are learned
            with less noise than many. The ends are for hard cuts: there a spline is straight.
    """

    conditioners: Sequence[ResidualConditioner | SmoothConditioner]
    shift: bool = eqx.field(static=True)

    @staticmethod
    def paper(features: int, *, key: PRNGKeyArray) -> SplineFlow:
        """Three spline layers, each with two residual blocks of 64."""
        keys = jax.random.split(key, 3)
        layers = [ResidualConditioner(features, NUMBERS, key=k) for k in keys]
        return SplineFlow(layers, shift=False)

    @staticmethod
    def smooth(features: int, *, key: PRNGKeyArray) -> SplineFlow:
        """Return the logit moved and one spline, both smooth in the attributes."""
        network = SmoothConditioner(features, PLACES + NUMBERS, key=key)
        return SplineFlow([network], shift=True)

    def __call__(
        self, score: Float[Array, ""], features: Float[Array, " f"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the conditional CDF and the log density of one score."""
        log_density = jnp.zeros_like(score)
        for conditioner in self.conditioners:
            knots = conditioner(features)
            if self.shift:
                score, log_slope = _shift_logit(score, *knots[:PLACES])
                log_density, knots = log_density + log_slope, knots[PLACES:]
            spline = spline_from(knots, BINS, interval=(0.0, 1.0))
            score, log_slope = spline.transform_and_log_det(score)
            log_density += log_slope
        return score, log_density


def _shift_logit(
    score: Float[Array, ""],
    shift: Float[Array, ""],
    log_width: Float[Array, ""],
    log_above: Float[Array, ""],
    log_below: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Shift and stretch the logit of a score on [0, 1], and what is above and below END once more.

    Also return the log of the slope.
    """
    edge = np.finfo(score.dtype).eps
    score = jnp.clip(score, edge, 1 - edge)
    before = jnp.log(score) - jnp.log1p(-score)
    middle = (before - shift) * jnp.exp(-log_width)
    above, below = jnp.exp(-log_above), jnp.exp(-log_below)
    after = middle + (above - 1) * softplus(middle - END) - (below - 1) * softplus(-middle - END)
    # The two sides and what is between them, each with its weight: a sum that cannot round to 0.
    between = sigmoid(END - middle) - sigmoid(-END - middle)
    slope = between + above * sigmoid(middle - END) + below * sigmoid(-END - middle)
    log_slope = softplus(before) + softplus(-before) - softplus(after) - softplus(-after)
    return sigmoid(after), log_slope + jnp.log(slope) - log_width
