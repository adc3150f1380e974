"""Quantile regression as steps of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import logit as logit_of

from unsculpt.decorrelators.quantile.cdf import EDGE, QuantileCDF
from unsculpt.flows.graph import all_but_last, linear
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats


def passed(graph: Graph, cdf: QuantileCDF, score: Value, features: Value) -> Value:
    """Return the highest quantile that each score reaches, 0 below the lowest."""
    levels, values = cdf.coordinate.levels, cdf.coordinate.quantiles
    total, gap = graph.constant(0.0), graph.constant(0.0)
    for knot, step in zip(
        _knots(graph, cdf, features), np.diff(cdf.quantiles, prepend=0), strict=True
    ):
        inside = graph.add("Sigmoid", knot).clip(levels[0], levels[-1])
        cut = graph.interpolate([(levels, inside)], values)
        total = total + graph.where(score < cut, 0.0, step)
        gap = gap + (score - cut)
    # A comparison hides NaN.
    return graph.where(gap.equals(gap), total, np.nan)


def smooth_cdf(graph: Graph, cdf: QuantileCDF, score: Value, features: Value) -> Value:
    """Return the conditional CDF by the spline through the quantiles."""
    x = graph.logit(cdf.coordinate.graph(graph, score), 1e-300, 1 - 1e-16)
    knots, heights = _knots(graph, cdf, features), logit_of(cdf.quantiles)
    # Beyond the knots a line of slope one; between them each piece adds its share of its rise.
    y = heights[0] + (x - x.clip(knots[0], knots[-1]))
    for piece in _pieces(knots, heights):
        t = ((x - piece.x) / piece.width).clip(0.0, 1.0)
        both = t * (1 - t)
        rise = piece.secant * t * t + piece.left * both
        y = y + piece.height * rise / (piece.secant + piece.bent * both)
    return graph.add("Sigmoid", y)


def inverse_of_smooth(graph: Graph, cdf: QuantileCDF, level: Value, features: Value) -> Value:
    """Return the score whose `smooth_cdf` is a level, within those of the fit."""
    y = graph.logit(level, 1e-300, 1 - 1e-16)
    knots, heights = _knots(graph, cdf, features), logit_of(cdf.quantiles)
    x = knots[0] + (y - y.clip(heights[0], heights[-1]))
    for piece in _pieces(knots, heights):
        rise = ((y - piece.y) / piece.height).clip(0.0, 1.0)
        a = piece.secant - piece.left + rise * piece.bent
        b = piece.left - rise * piece.bent
        # The root on [0, 1], in the form that does not cancel.
        root = graph.add("Sqrt", b * b + 4 * a * piece.secant * rise)
        x = x + piece.width * (2 * piece.secant * rise / (b + root))
    return cdf.coordinate.inverse_graph(graph, graph.add("Sigmoid", x))


class _Piece(NamedTuple):
    """The spline between two knots: its corner, its size and its slopes."""

    x: Value
    y: float
    width: Value
    height: float
    secant: Value
    left: Value | float
    bent: Value


def _pieces(knots: list[Value], heights: Floats) -> Iterator[_Piece]:
    widths, rises = [b - a for a, b in pairwise(knots)], np.diff(heights)
    slopes: list[Value | float] = [1.0] * len(knots)
    runs = [width / rise for width, rise in zip(widths, rises, strict=True)]
    for i in range(1, len(knots) - 1):
        before, after = widths[i - 1], widths[i]
        slopes[i] = (
            3
            * (before + after)
            / ((2 * after + before) * runs[i - 1] + (after + 2 * before) * runs[i])
        )
    for i, (width, rise) in enumerate(zip(widths, rises, strict=True)):
        secant = rise / width
        bent = slopes[i] + slopes[i + 1] - 2 * secant
        yield _Piece(knots[i], heights[i], width, rise, secant, slopes[i], bent)


def _knots(graph: Graph, cdf: QuantileCDF, features: Value) -> list[Value]:
    """Return where the quantiles lie, in the logit of the coordinate."""
    if cdf.one_axis:
        nodes, table = cdf.knots_by_attribute
        return [graph.interpolate([(nodes, features)], values) for values in table.T]
    networks, q = cdf.networks, len(cdf.quantiles)
    hidden, last = all_but_last(graph, networks.conditioner, features)
    start = np.asarray(networks.start)[:, None]
    steps = [linear(last, hidden, 0, 1) + start[..., :1]]
    if q > 1:
        steps.append(graph.softplus(linear(last, hidden, 1) + start[..., 1:]))
    sums = graph.add("Concat", *steps, axis=-1) @ np.triu(np.ones((q, q)))
    knots = graph.add("ReduceMean", sums, axes=[0], keepdims=0)
    if cdf.recipe == "paper":
        knots = graph.logit(knots, EDGE, 1 - EDGE)
    knots = knots + 1e-9 * np.arange(q)
    return [graph.add("Gather", knots, np.array([i]), axis=1) for i in range(q)]
