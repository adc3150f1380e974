"""The conditional quantiles of a fitted quantile regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.tables import ATTRIBUTE_NODES
from unsculpt.decorrelators.quantile.interpolation import inverse_spline, spline
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats

if TYPE_CHECKING:
    from unsculpt.decorrelators.quantile.network import QuantileNetwork

EDGE = 1e-12  # nearest that a quantile comes to the ends of its coordinate


@dataclass(frozen=True)
class QuantileCDF:
    """The conditional quantiles of one score, the mean of an ensemble of networks.

    Attributes:
        coordinate: maps the score to [0, 1].
        parameters: of the members, stacked on the leading axis of every array. They predict the
            coordinate's logit or, in the paper's recipe, the coordinate itself.
        quantiles: the levels, increasing.
        recipe: of the networks.
        inputs: how many they have.
        one_axis: whether there is one continuous attribute, so that a table can replace them.
        table_values: of that table, if they are known already: those of a variation.
    """

    coordinate: EmpiricalCDF
    parameters: list[NDArray[Any]]
    quantiles: Floats
    recipe: str
    inputs: int
    one_axis: bool
    table_values: Floats | None = None

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

    def graph(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `cdf` as steps of a graph."""
        from unsculpt.decorrelators.quantile.graph import smooth_cdf

        return smooth_cdf(graph, self, score, features)

    def inverse_graph(self, graph: Graph, level: Value, features: Value) -> Value:
        """Return `inverse` as steps of a graph, within the scores of the fit."""
        from unsculpt.decorrelators.quantile.graph import inverse_of_smooth

        return inverse_of_smooth(graph, self, level, features)

    def graph_level(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `level` as steps of a graph."""
        from unsculpt.decorrelators.quantile.graph import passed

        return passed(graph, self, score, features)

    @cached_property
    def networks(self) -> QuantileNetwork:
        """The members, stacked on the leading axis of every array."""
        from unsculpt.decorrelators.quantile.network import restore

        return restore(self.recipe, self.inputs, len(self.quantiles), self.parameters)

    def _knots(self, features: Floats) -> Floats:
        """Return where the quantiles lie, in the logit of the coordinate, (n, q)."""
        if not self.one_axis:
            return self._evaluate(features)
        nodes, table = self.knots_by_attribute
        return np.column_stack([np.interp(features[:, 0], nodes, column) for column in table.T])

    @cached_property
    def knots_by_attribute(self) -> tuple[Floats, Floats]:
        """Values of one attribute and `_knots` there."""
        if self.table_values is not None:
            return ATTRIBUTE_NODES, self.table_values
        return ATTRIBUTE_NODES, self._evaluate(ATTRIBUTE_NODES[:, None])

    def moved(self, others: Sequence[QuantileCDF], by: Floats) -> QuantileCDF:
        """Return it moved towards each of the others, by so much of the way; one attribute."""
        knots, *towards = (cdf.knots_by_attribute[1] for cdf in (self, *others))
        shift = sum(b * (other - knots) for b, other in zip(by, towards, strict=True))
        return replace(self, table_values=np.sort(knots + shift, axis=1))

    def _evaluate(self, features: Floats) -> Floats:
        from unsculpt.decorrelators.quantile.network import evaluate

        out = evaluate(self.networks, features)
        if self.recipe == "paper":
            out = logit(np.clip(out, EDGE, 1 - EDGE))
        # The spline needs some distance between its knots, even where the clip has left none.
        return np.asarray(out.T + 1e-9 * np.arange(len(out)))
