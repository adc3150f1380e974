"""One score column of a fitted flow decorrelator: coordinate, ensemble and their table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from unsculpt.decorrelators.chunks import in_chunks
from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import ConditionalGrid
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.flows import SplineFlow

Floats = NDArray[np.float64]

ATTRIBUTE_NODES = 257


@dataclass(frozen=True)
class FlowColumn:
    """The conditional CDF of one score, the mean of an ensemble of flows.

    Attributes:
        coordinate: maps the score to [0, 1], where the flows live.
        nodes: quantiles of the training sample in that coordinate, where a table needs nodes.
        flows: the members, stacked on the leading axis of every array.
        tabulated: whether the network has one input, so that a table can replace it.
    """

    coordinate: EmpiricalCDF
    nodes: Floats
    flows: SplineFlow
    tabulated: bool

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""
        if self.tabulated:
            return self.table.cdf(score, features)
        return np.asarray(self._members(self.coordinate(score), features)[0].mean(axis=0))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        if self.tabulated:
            return self.table.inverse(level, features)
        (score,) = in_chunks(_bisect, self.flows, level, features)
        return self.coordinate.inverse(score)

    def log_density(self, score: Floats, features: Floats) -> Floats:
        """Return the log of the mean density of the members, in units of the score."""
        logs = self._members(self.coordinate(score), features)[1]
        mean = np.logaddexp.reduce(logs) - np.log(len(logs))
        return np.asarray(mean + self.coordinate.log_slope(score))

    def spread(self, score: Floats, features: Floats) -> Floats:
        """Return the standard deviation of the members' CDFs."""
        return np.asarray(self._members(self.coordinate(score), features)[0].std(axis=0, ddof=1))

    def _members(self, level: Floats, features: Floats) -> tuple[Floats, Floats]:
        """Return CDF and log density of every member, (members, n)."""
        cdf, log_density = in_chunks(_evaluate, self.flows, level, features)
        return cdf, log_density

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    @cached_property
    def table(self) -> TableColumn:
        """The mean of the members over one attribute."""
        attribute = np.linspace(-1, 1, ATTRIBUTE_NODES)
        score = np.unique(np.concatenate([[0.0], self.nodes, [1.0]]))
        at_attribute, at_score = np.meshgrid(attribute, score, indexing="ij")
        cdf, _ = self._members(at_score.ravel(), at_attribute.reshape(-1, 1))
        cdf = cdf.mean(axis=0).reshape(at_score.shape)
        return TableColumn(self.coordinate, ConditionalGrid(attribute, score, cdf))


@eqx.filter_jit
def _evaluate(
    flows: SplineFlow, score: Float[Array, " n"], features: Float[Array, "n f"]
) -> tuple[Float[Array, "members n"], Float[Array, "members n"]]:
    return _ensemble(flows, score, features)


@eqx.filter_jit
def _bisect(
    flows: SplineFlow, level: Float[Array, " n"], features: Float[Array, "n f"]
) -> tuple[Float[Array, " n"]]:
    """Find where the mean of the members reaches a level: a mean of inverses it is not."""

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        below = _ensemble(flows, middle, features)[0].mean(axis=0) < level
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, 50, halve, (jnp.zeros_like(level), jnp.ones_like(level)))
    return ((low + high) / 2,)


def _ensemble(flows: SplineFlow, score: Array, features: Array) -> tuple[Array, Array]:
    def member(flow: SplineFlow) -> tuple[Array, Array]:
        return jax.vmap(flow)(score, features)

    cdf, log_density = eqx.filter_vmap(member)(flows)
    return cdf, log_density
