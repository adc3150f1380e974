"""The parts that every decorrelator of a score is made of, as steps of a graph."""

from __future__ import annotations

import numpy as np

from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.grid import ConditionalGrid
from unsculpt.decorrelators.protected import Categorical, Continuous, ProtectedAttributes
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.export.graph import Graph, Value


def level(graph: Graph, cdf: EmpiricalCDF, value: Value) -> Value:
    """Return the level of each value, as `EmpiricalCDF` gives it."""
    knots, start, end = cdf._steps
    left = graph.count_below(knots[1:-1], value)
    here = (value - graph.take(knots[:-1], left)) / graph.take(np.diff(knots), left)
    inside = graph.take(end[:-1], left) + graph.take(start[1:] - end[:-1], left) * here
    # An atom is at the middle of its jump.
    for knot, middle in (
        (knots[0], (start[0] + end[0]) / 2),
        (graph.take(knots[1:], left), graph.take((start + end)[1:] / 2, left)),
    ):
        inside = graph.where(value.equals(knot), middle, inside)
    scale = knots[-1] - knots[0]
    below = start[0] / (1 + (knots[0] - value) / scale)
    above = 1 - (1 - end[-1]) / (1 + (value - knots[-1]) / scale)
    inside = graph.where(value < knots[0], below, inside)
    return graph.where(value > knots[-1], above, inside)


def features(
    graph: Graph, protected: ProtectedAttributes, columns: list[Value], outside: str
) -> tuple[Value, Value | None]:
    """Return the coordinates of the attributes, (n, f), and NaN for what is outside, else 0.

    A graph cannot raise an error: what would raise one becomes NaN.
    """
    blocks, marks = [], []
    for attribute, column in zip(protected.attributes, columns, strict=True):
        if isinstance(attribute, Continuous):
            low, high = attribute.cdf.range
            inside = column.clip(low, high)
            across = 2 * (inside - low) / (high - low) - 1
            if not attribute.linear:
                across = (across + 2 * level(graph, attribute.cdf, inside) - 1) / 2
            blocks.append(across)
            known = column.equals(inside)
        else:
            blocks.append(_one_hot(graph, attribute, column))
            known = blocks[-1] @ np.ones((attribute.width, 1)) > 0.5
        if outside != "clip" or isinstance(attribute, Categorical):
            marks.append(graph.where(known, 0.0, np.nan))
    mark = sum(marks[1:], start=marks[0]) if marks else None
    return graph.add("Concat", *blocks, axis=-1), mark


def codes(attribute: Categorical) -> list[float]:
    """Return the numbers that stand for the categories; those of text are its places in order."""
    values = attribute.values
    return [*range(len(values))] if isinstance(values[0], str) else [float(v) for v in values]


def _one_hot(graph: Graph, attribute: Categorical, column: Value) -> Value:
    same = column.equals(np.array([codes(attribute)], dtype=np.float64))
    return graph.where(same, 1.0, 0.0)


def table(graph: Graph, column: TableColumn, score: Value, attribute: Value) -> Value:
    """Return the conditional CDF that is tabulated over one attribute."""
    return _bilinear(graph, column.grid, level(graph, column.coordinate, score), attribute)


def _bilinear(graph: Graph, grid: ConditionalGrid, score: Value, attribute: Value) -> Value:
    row, up = _between(graph, grid.attribute, attribute)
    place, right = _between(graph, grid.score, score)
    width = len(grid.score)
    corner = row * np.int64(width) + place
    low, high = (
        graph.take(grid.table.ravel(), corner + np.int64(shift)) * (1 - right)
        + graph.take(grid.table.ravel(), corner + np.int64(shift + 1)) * right
        for shift in (0, width)
    )
    return low * (1 - up) + high * up


def _between(graph: Graph, nodes: np.ndarray, value: Value) -> tuple[Value, Value]:
    """Return the node to the left of each value and the fraction of the way to the next."""
    left = graph.count_below(nodes[1:-1], value)
    return left, (value - graph.take(nodes[:-1], left)) / graph.take(np.diff(nodes), left)
