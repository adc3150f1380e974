"""One score column of a fitted quantile regression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray
from scipy.special import expit, logit

from unsculpt.decorrelators.chunks import in_chunks
from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import ATTRIBUTE_NODES
from unsculpt.decorrelators.quantile_network import QuantileNetwork
from unsculpt.decorrelators.quantile_spline import inverse_spline, spline

Floats = NDArray[np.float64]

EDGE = 1e-12  # nearest that a quantile comes to the ends of its coordinate


@dataclass(frozen=True)
class QuantileColumn:
    """The conditional quantiles of one score, the mean of an ensemble of networks.

    Attributes:
        coordinate: maps the score to [0, 1].
        networks: the members, stacked on the leading axis of every array. They predict the
            coordinate's logit or, where `linear`, the coordinate itself.
        quantiles: the levels, increasing.
        linear: whether this is the paper's recipe.
        tabulated: whether the network has one input, so that a table can replace it.
    """

    coordinate: EmpiricalCDF
    networks: QuantileNetwork
    quantiles: Floats
    linear: bool
    tabulated: bool

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    def thresholds(self, features: Floats) -> Floats:
        """Return the score at each quantile, never beyond those of the fit, (n, q)."""
        levels = expit(self._knots(features))
        inside = np.column_stack([self.coordinate.inverse(level) for level in levels.T])
        return np.clip(inside, *self.range)

    def level(self, score: Floats, features: Floats) -> Floats:
        """Return the highest quantile that each score reaches, 0 below the lowest."""
        passed = (score[:, None] >= self.thresholds(features)).sum(axis=1)
        return np.asarray(np.concatenate([[0.0], self.quantiles])[passed])

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes) by a spline through the quantiles."""
        place = logit(np.clip(self.coordinate(score), 1e-300, 1 - 1e-16))
        return np.asarray(expit(spline(place, self._knots(features), logit(self.quantiles))))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        with np.errstate(divide="ignore"):
            height = np.clip(logit(level), -700, 700)
        place = inverse_spline(height, self._knots(features), logit(self.quantiles))
        return self.coordinate.inverse(expit(place))

    def _knots(self, features: Floats) -> Floats:
        """Return where the quantiles lie, in the logit of the coordinate, (n, q)."""
        if not self.tabulated:
            return self._evaluate(features)
        nodes, table = self.table
        return np.column_stack([np.interp(features[:, 0], nodes, column) for column in table.T])

    @cached_property
    def table(self) -> tuple[Floats, Floats]:
        """Values of one attribute and `_knots` there."""
        return ATTRIBUTE_NODES, self._evaluate(ATTRIBUTE_NODES[:, None])

    def _evaluate(self, features: Floats) -> Floats:
        (out,) = in_chunks(_ensemble, self.networks, features)
        if self.linear:
            out = logit(np.clip(out, EDGE, 1 - EDGE))
        # The spline needs some distance between its knots, even where the clip has left none.
        return np.asarray(out.T + 1e-9 * np.arange(len(out)))


@eqx.filter_jit
def _ensemble(
    networks: QuantileNetwork, features: Float[Array, "n f"]
) -> tuple[Float[Array, "q n"]]:
    """Return the mean of the members: that of increasing numbers increases."""

    def member(network: QuantileNetwork) -> Array:
        return jax.vmap(network)(features)

    return (eqx.filter_vmap(member)(networks).mean(axis=0).T,)
