"""Conditional CDFs as tables: a few reads of memory an event, whatever model filled them.

Between the nodes a table is linear. A mixture of increasing curves increases, so the interpolation
keeps the order exactly and inverts exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.empirical import EmpiricalCDF, Search
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats

ATTRIBUTE_NODES = np.linspace(-1, 1, 257)


@dataclass(frozen=True)
class TableCDF:
    """F(score | attribute) of one score, on a rectangular grid over the coordinates of both.

    Attributes:
        coordinate: maps the score to [0, 1].
        attribute: nodes in the attribute's coordinate, increasing at equal distances, (a,).
        score: nodes in the score's coordinate, increasing, (s,).
        values: F at the nodes, (a, s), increasing along the score.
    """

    coordinate: EmpiricalCDF
    attribute: Floats
    score: Floats
    values: Floats

    @cached_property
    def _search(self) -> Search:
        return Search(self.score)

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    @property
    def table(self) -> TableCDF:
        """It is one."""
        return self

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attribute)."""
        row, upper = between_even(self.attribute, features[:, 0])
        column, right = between(self._search, self.coordinate(score))
        width, values = len(self.score), self.values.ravel()
        here = row * width + column
        # At the nodes of the score before and after, on the way between those of the attribute.
        before, after = values.take(here), values[1:].take(here)
        before += upper * (values[width:].take(here) - before)
        after += upper * (values[width + 1 :].take(here) - after)
        return np.asarray(before + right * (after - before))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        row, upper = between_even(self.attribute, features[:, 0])

        def at(column: NDArray[np.int64]) -> Floats:
            here = (1 - upper) * self.values[row, column] + upper * self.values[row + 1, column]
            return np.asarray(here)

        return self.coordinate.inverse(reach(at, level, self.score))

    def graph(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `cdf` as steps of a graph."""
        place = self.coordinate.graph(graph, score)
        return graph.interpolate([(self.attribute, features), (self.score, place)], self.values)

    def inverse_graph(self, graph: Graph, level: Value, features: Value) -> Value:
        """Return `inverse` as steps of a graph, within the scores of the fit."""
        axes = [(self.attribute, features)]
        place = reach_graph(graph, axes, self.values, level, self.score)
        return self.coordinate.inverse_graph(graph, place)


@dataclass(frozen=True)
class TensorCDF:
    """F(score | attributes) of one score, on a grid over its coordinate and several attributes.

    Attributes:
        coordinate: maps the score to [0, 1].
        attributes: say where an event lies on the grid.
        nodes: of each attribute, increasing at equal distances.
        score: nodes in the score's coordinate, increasing, (s,).
        values: F at the nodes, (..., s), increasing along the score.
    """

    coordinate: EmpiricalCDF
    attributes: ProtectedAttributes
    nodes: list[Floats]
    score: Floats
    values: Floats

    @cached_property
    def _search(self) -> Search:
        return Search(self.score)

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""
        here, ways = self._cells(features)
        column, right = between(self._search, self.coordinate(score))
        return _mixed(self.values.ravel(), here + column, [*ways, (1, right)])

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        here, ways = self._cells(features)
        flat = self.values.ravel()
        return self.coordinate.inverse(
            reach(lambda column: _mixed(flat, here + column, ways), level, self.score)
        )

    def _cells(self, features: Floats) -> tuple[NDArray[np.int64], list[Way]]:
        """Return where the curve at the node before each event begins, and the ways to others."""
        here, ways = np.zeros(len(features), dtype=np.int64), []
        shape = self.values.shape
        strides = [int(np.prod(shape[i:])) for i in range(1, len(shape))]
        positions = self.attributes.positions(features).T
        for nodes, x, stride in zip(self.nodes, positions, strides, strict=True):
            left, share = between_even(nodes, x)
            here += left * stride
            ways.append((stride, share))
        return here, ways

    def graph(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `cdf` as steps of a graph."""
        axes = [*self._axes(graph, features), (self.score, self.coordinate.graph(graph, score))]
        return graph.interpolate(axes, self.values)

    def inverse_graph(self, graph: Graph, level: Value, features: Value) -> Value:
        """Return `inverse` as steps of a graph, within the scores of the fit."""
        axes = self._axes(graph, features)
        place = reach_graph(graph, axes, self.values, level, self.score)
        return self.coordinate.inverse_graph(graph, place)

    def _axes(self, graph: Graph, features: Value) -> list[tuple[Floats, Value]]:
        places = self.attributes.graph_positions(graph, features)
        return list(zip(self.nodes, places, strict=True))


def table_of(cdf: Any) -> TableCDF | TensorCDF | None:
    """Return the table in which a conditional CDF is, or None."""
    return cdf if isinstance(cdf, TensorCDF) else getattr(cdf, "table", None)


def between(search: Search, values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the node before each value, and its share of the way to the next one."""
    left, nodes = search.before(values), search.nodes
    start = nodes.take(left)
    return left, (values - start) / (nodes[1:].take(left) - start)


def between_even(nodes: Floats, values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the same for nodes at equal distances, where there is nothing to search."""
    place = (values - nodes[0]) * ((len(nodes) - 1) / (nodes[-1] - nodes[0]))
    left = np.clip(place.astype(np.int64), 0, len(nodes) - 2)
    return left, place - left


def reach(at: Callable[[NDArray[np.int64]], Floats], level: Floats, nodes: Floats) -> Floats:
    """Return where increasing curves, given at the nodes, reach each level, by bisection."""
    low = np.zeros(len(level), dtype=np.int64)
    high = np.full(len(level), len(nodes) - 1)
    for _ in range(int(np.ceil(np.log2(len(nodes))))):
        middle = (low + high) // 2
        below = at(middle) <= level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    low = np.minimum(low, len(nodes) - 2)
    start, end = at(low), at(low + 1)
    # Where the curve is flat, any place of the stretch will do: take its start.
    rise = end - start
    fraction = np.divide(level - start, rise, out=np.zeros_like(rise), where=rise > 0)
    return nodes[low] + np.clip(fraction, 0, 1) * (nodes[low + 1] - nodes[low])


def reach_graph(
    graph: Graph,
    axes: list[tuple[Floats, Value]],
    values: Floats,
    level: Value,
    nodes: Floats,
) -> Value:
    """Return `reach` as steps of a graph, for curves along the last axis of a table."""
    column, last = graph.constant(np.zeros((1, 1), dtype=np.int64)), np.int64(len(nodes) - 1)
    for step in (2**k for k in reversed(range(len(nodes).bit_length()))):
        right = column + np.int64(step)
        inside = right < last
        there = graph.mixture(axes, values, graph.where(inside, right, column))
        column = graph.where(level < graph.where(inside, there, 2.0), column, right)
    after = column + np.int64(1)
    start = graph.mixture(axes, values, column)
    rise = graph.mixture(axes, values, after) - start
    share = graph.where(rise > 0.0, (level - start) / rise, 0.0).clip(0.0, 1.0)
    here = graph.take(nodes, column)
    return here + share * (graph.take(nodes, after) - here)


Way = tuple[int, Floats]
"""How far apart two nodes lie in a flat table, and each event's share of the way between them."""


def _mixed(flat: Floats, here: NDArray[np.int64], ways: Sequence[Way]) -> Floats:
    """Return the values between the nodes here and the next ones along each way."""
    if not ways:
        return flat.take(here)
    (stride, share), *others = ways
    low, high = _mixed(flat, here, others), _mixed(flat[stride:], here, others)
    high -= low
    high *= share
    high += low
    return high
