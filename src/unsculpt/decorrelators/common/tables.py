"""Conditional CDFs as tables: a few reads of memory an event, whatever model filled them.

Between the nodes a table is linear. A mixture of increasing curves increases, so the interpolation
keeps the order exactly and inverts exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.empirical import EmpiricalCDF, Locator
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats

ATTRIBUTE_NODES = np.linspace(-1, 1, 257)
# Of an inverse: equal steps of the level with bounds of their own, and the halvings that most need.
LEVELS, HALVINGS_OF_ALL = 256, 2


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
    def _curves(self) -> Curves:
        return Curves(self.score, self.values)

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
        return self._curves.at(*self._row(features), self.coordinate(score))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        return self.coordinate.inverse(self._curves.reach(*self._row(features), level))

    def _row(self, features: Floats) -> tuple[NDArray[np.int64], list[Way]]:
        row, upper = between_even(self.attribute, features[:, 0])
        return row, [(1, upper)]

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
    def _curves(self) -> Curves:
        return Curves(self.score, self.values)

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""
        return self.coordinate.range

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""
        return self._curves.at(*self._rows(features), self.coordinate(score))

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""
        return self.coordinate.inverse(self._curves.reach(*self._rows(features), level))

    def _rows(self, features: Floats) -> tuple[NDArray[np.int64], list[Way]]:
        """Return the curve at the nodes before each event, and the ways to others."""
        row, ways = np.zeros(len(features), dtype=np.int64), []
        shape = self.values.shape[:-1]
        strides = [int(np.prod(shape[i:])) for i in range(1, len(shape) + 1)]
        positions = self.attributes.positions(features).T
        for nodes, x, stride in zip(self.nodes, positions, strides, strict=True):
            left, share = between_even(nodes, x)
            row += left * stride
            ways.append((stride, share))
        return row, ways

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


Way = tuple[int, Floats]
"""How far apart two nodes lie in a flat table, and each event's share of the way between them."""


class Curves:
    """Increasing curves at common nodes, one for each row of a table.

    Args:
        nodes: where the curves are known, increasing, (s,).
        values: of the curves there, (..., s), increasing.
    """

    def __init__(self, nodes: Floats, values: Floats) -> None:
        self.nodes, self._widths, self._flat = nodes, np.diff(nodes), values.ravel()
        self._locator = Locator(nodes)

    def at(self, row: NDArray[np.int64], ways: Sequence[Way], place: Floats) -> Floats:
        """Return the height at each place of the curve that lies on the ways between rows."""
        left = self._locator.before(place)
        share = place - self.nodes.take(left)
        share /= self._widths.take(left)
        return _mixed(self._flat, self._here(row, left), [*self._wide(ways), (1, share)])

    def reach(self, row: NDArray[np.int64], ways: Sequence[Way], level: Floats) -> Floats:
        """Return where those curves reach each level, by bisection between bounds."""
        ways_of_rows, ways = ways, self._wide(ways)
        low, high = self._bounds(row, ways_of_rows, level)
        for _ in range(HALVINGS_OF_ALL):
            low, high = self._halve(low, high, row, ways, level)
        # Few have more than two nodes left: in a tail they crowd.
        far = np.flatnonzero(high - low > 1)
        if len(far):
            some = row[far], [(stride, share[far]) for stride, share in ways], level[far]
            first, last = low[far], high[far]
            while (last - first > 1).any():
                first, last = self._halve(first, last, *some)
            low[far] = first
        start, end = (_mixed(self._flat, self._here(row, left), ways) for left in (low, low + 1))
        # Where the curve is flat, any place of the stretch will do: take its start.
        rise = end - start
        fraction = np.divide(level - start, rise, out=np.zeros_like(rise), where=rise > 0)
        return self.nodes.take(low) + np.clip(fraction, 0, 1) * self._widths.take(low)

    def _halve(
        self,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        row: NDArray[np.int64],
        ways: Sequence[Way],
        level: Floats,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        middle = (low + high) >> 1
        below = _mixed(self._flat, self._here(row, middle), ways) <= level
        return np.where(below, middle, low), np.where(below, high, middle)

    @cached_property
    def _passed(self) -> NDArray[np.int64]:
        """For each row and equal steps of the level, the last node that is not above it."""
        rows, levels = self._flat.reshape(-1, len(self.nodes)), np.linspace(0, 1, LEVELS + 1)
        found = np.array([np.searchsorted(row, levels, side="right") for row in rows])
        return np.asarray(np.clip(found - 1, 0, len(self.nodes) - 2).ravel())

    def _bounds(
        self, row: NDArray[np.int64], ways: Sequence[Way], level: Floats
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return nodes at which none, and all, of the curves around each event are above it."""
        step = np.clip(level * LEVELS, 0, LEVELS - 1).astype(np.int64)
        corners = [0]
        for stride, _ in ways:
            corners += [corner + stride for corner in corners]
        row = row * (LEVELS + 1) + step
        before = [self._passed[(LEVELS + 1) * corner :].take(row) for corner in corners]
        after = [self._passed[(LEVELS + 1) * corner + 1 :].take(row) for corner in corners]
        return reduce(np.minimum, before), reduce(np.maximum, after) + 1

    def _here(self, row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.int64]:
        return row * len(self.nodes) + column

    def _wide(self, ways: Sequence[Way]) -> list[Way]:
        return [(stride * len(self.nodes), share) for stride, share in ways]


def between_even(nodes: Floats, values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the node before each value, and its share of the way to the next one.

    The nodes are at equal distances, so there is nothing to search.
    """
    place = (values - nodes[0]) * ((len(nodes) - 1) / (nodes[-1] - nodes[0]))
    left = np.clip(np.floor(place), 0, len(nodes) - 2)
    place -= left
    return left.astype(np.int64), place


def reach_graph(
    graph: Graph,
    axes: list[tuple[Floats, Value]],
    values: Floats,
    level: Value,
    nodes: Floats,
) -> Value:
    """Return `Curves.reach` as steps of a graph, for curves along the last axis of a table."""
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
