"""The parts that every decorrelator of a score is made of, as steps of a graph."""

from __future__ import annotations

from itertools import product

import numpy as np

from unsculpt.decorrelators.empirical import EmpiricalCDF
from unsculpt.decorrelators.protected import Categorical, Continuous, ProtectedAttributes
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.decorrelators.tensor_grid import TensorColumn
from unsculpt.export.graph import Graph, Value
from unsculpt.models.inputs import Floats


def level(graph: Graph, cdf: EmpiricalCDF, value: Value) -> Value:
    """Return the level of each value, as `EmpiricalCDF` gives it."""
    knots, start, end = cdf.steps
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
        if isinstance(attribute, Categorical):
            block = _one_hot(graph, attribute, column)
            known = block @ np.ones((attribute.width, 1)) > 0.5
        else:
            low, high = attribute.cdf.range
            inside = column.clip(low, high)
            known = column.equals(inside)
            block = 2 * (inside - low) / (high - low) - 1
            if not attribute.linear:
                block = (block + 2 * level(graph, attribute.cdf, inside) - 1) / 2
        blocks.append(block)
        if outside != "clip" or isinstance(attribute, Categorical):
            marks.append(graph.where(known, 0.0, np.nan))
    mark = sum(marks[1:], start=marks[0]) if marks else None
    return graph.add("Concat", *blocks, axis=-1), mark


def is_text(attribute: Continuous | Categorical) -> bool:
    """Return whether an attribute's values are strings."""
    return isinstance(attribute, Categorical) and isinstance(attribute.values[0], str)


def _one_hot(graph: Graph, attribute: Categorical, column: Value) -> Value:
    values = attribute.values
    if is_text(attribute):
        # From here on a number, the place in the list; -1 is for what is not there.
        column = graph.add("LabelEncoder", column, keys=values)
        column, values = graph.add("Cast", column, to="float64"), list(range(len(values)))
    return graph.where(column.equals(np.array([values], dtype=np.float64)), 1.0, 0.0)


def table(graph: Graph, column: TableColumn, score: Value, attribute: Value) -> Value:
    """Return the conditional CDF that is tabulated over one attribute."""
    grid = column.grid
    axes = [(grid.attribute, attribute), (grid.score, level(graph, column.coordinate, score))]
    return interpolate(graph, axes, grid.table)


def tensor(
    graph: Graph,
    column: TensorColumn,
    score: Value,
    protected: ProtectedAttributes,
    features: Value,
) -> Value:
    """Return the conditional CDF that is tabulated over several attributes."""
    axes, first = [], 0
    for nodes, attribute in zip(column.grid.attributes, protected.attributes, strict=True):
        places = np.arange(first, first + attribute.width)
        place = graph.add("Gather", features, places, axis=1)
        if isinstance(attribute, Categorical):  # on the grid, a category is its number
            place = place @ np.arange(float(attribute.width))[:, None]
        axes.append((nodes, place))
        first += attribute.width
    axes.append((column.grid.score, level(graph, column.coordinate, score)))
    return interpolate(graph, axes, column.grid.table)


def interpolate(graph: Graph, axes: list[tuple[Floats, Value]], table: Floats) -> Value:
    """Return a table at these places, linear between the nodes along every axis."""
    strides = np.array(table.strides) // table.itemsize
    corner, shares = graph.constant(np.int64(0)), []
    for (nodes, value), stride in zip(axes, strides, strict=True):
        left = graph.count_below(nodes[1:-1], value)
        corner = corner + left * stride
        shares.append((value - graph.take(nodes[:-1], left)) / graph.take(np.diff(nodes), left))
    total = graph.constant(0.0)
    for ends in product((0, 1), repeat=len(axes)):
        term = graph.take(table.ravel(), corner + strides @ ends)
        for end, share in zip(ends, shares, strict=True):
            term = term * (share if end else 1 - share)
        total = total + term
    return total
