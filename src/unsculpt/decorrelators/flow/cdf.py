"""The conditional CDF of a fitted flow decorrelator: coordinate, ensemble and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.tables import ATTRIBUTE_NODES, TableCDF
from unsculpt.decorrelators.common.variations import NEVER, shifted
from unsculpt.decorrelators.flow.evaluation import Layer, inverse_of_mean, layers_of, mean_cdf
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats

if TYPE_CHECKING:
    from unsculpt.flows.spline_flow import SplineFlow


@dataclass(frozen=True)
class FlowCDF:
    """The conditional CDF of one score, the mean of an ensemble of flows.

    JAX, which takes seconds to load and to compile, is asked only for densities and for the table.

    Attributes:
        coordinate: maps the score to [0, 1], where the flows live.
        nodes: quantiles of the training sample in that coordinate, where a table needs nodes.
        recipe: of the flows.
        features: coordinates of the attributes that they take.
        parameters: of the members, stacked on the leading axis of every array.
        one_axis: whether there is one continuous attribute, so that a table can replace the flows.
        table_values: of that table, if they are known already. Those of a variation are its own.
    """

    coordinate: EmpiricalCDF
    nodes: Floats
    recipe: str
    features: int
    parameters: list[NDArray[Any]]
    one_axis: bool
    table_values: Floats | None = None

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""
        if self.table is not None:
            return self.table.cdf(score, features)
        return self.at_jump(score, features)

    def at_jump(self, score: Floats, features: Floats) -> Floats:
        """Return the same without the table, whose nodes are too far apart next to an atom."""
        return mean_cdf(self.recipe, self._layers, self.coordinate(score), features)

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        if self.table is not None:
            return self.table.inverse(level, features)
        return self.coordinate.inverse(inverse_of_mean(self.recipe, self._layers, level, features))

    def log_density(self, score: Floats, features: Floats) -> Floats:
        """Return the log of the mean density of the members, in units of the score."""
        logs = self._members(self.coordinate(score), features)[1]
        mean = np.logaddexp.reduce(logs) - np.log(len(logs))
        return np.asarray(mean + self.coordinate.log_slope(score))

    def moved(self, others: Sequence[FlowCDF], by: Floats) -> FlowCDF:
        """Return it moved towards each of the others, by so much of the way; one attribute."""
        values, *towards = (_table_of(cdf).values for cdf in (self, *others))
        # By the logits: in a tail one map may have many times the probability of another.
        here, *there = (logit(np.clip(table, NEVER, 1 - NEVER)) for table in (values, *towards))
        shift = sum(b * (other - here) for b, other in zip(by, there, strict=True))
        moved = shifted(values, shift)
        moved[:, [0, -1]] = values[:, [0, -1]]
        return replace(self, table_values=moved)

    def _members(self, level: Floats, features: Floats) -> tuple[Floats, Floats]:
        """Return CDF and log density of every member, (members, n)."""
        from unsculpt.decorrelators.flow.ensemble import evaluate

        return evaluate(self.flows, level, features)

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    @cached_property
    def _layers(self) -> list[Layer]:
        return layers_of(self.parameters)

    @cached_property
    def flows(self) -> SplineFlow:
        """The members, stacked on the leading axis of every array."""
        from unsculpt.decorrelators.flow.ensemble import restore

        return restore(self.recipe, self.features, self.parameters)

    @cached_property
    def table(self) -> TableCDF | None:
        """The mean of the members over one continuous attribute; None if there are others."""
        if not self.one_axis:
            return None
        score = np.unique(np.concatenate([[0.0], self.nodes, [1.0]]))
        values = self.table_values
        if values is None:
            at = np.meshgrid(ATTRIBUTE_NODES, score, indexing="ij")
            members, _ = self._members(at[1].ravel(), at[0].reshape(-1, 1))
            values = members.mean(axis=0).reshape(at[1].shape)
        attribute = np.linspace(-1, 1, len(values))
        return TableCDF(self.coordinate, attribute, score, values)

    def graph(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `cdf` as steps of a graph."""
        if self.table is not None:
            return self.table.graph(graph, score, features)
        from unsculpt.decorrelators.flow.graph import graph_of_mean_cdf

        level = self.coordinate.graph(graph, score)
        return graph_of_mean_cdf(graph, self.flows, level, features)

    def inverse_graph(self, graph: Graph, level: Value, features: Value) -> Value:
        """Return `inverse` as steps of a graph, within the scores of the fit."""
        if self.table is not None:
            return self.table.inverse_graph(graph, level, features)
        from unsculpt.decorrelators.flow.graph import graph_of_inverse

        place = graph_of_inverse(graph, self.flows, level, features)
        return self.coordinate.inverse_graph(graph, place)


def _table_of(cdf: FlowCDF) -> TableCDF:
    assert cdf.table is not None, "the maps of several attributes have no table"
    return cdf.table
