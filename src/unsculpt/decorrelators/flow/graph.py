"""A flow with its networks as steps of a graph: for several attributes, where no table will do."""

from __future__ import annotations

import numpy as np

from unsculpt.decorrelators.flow.evaluation import FARTHEST
from unsculpt.flows.graph import all_but_last, linear
from unsculpt.flows.numbers import BINS, END, IDENTITY_SLOPE, LEAST, PLACES
from unsculpt.flows.spline_flow import SplineFlow
from unsculpt.graph import Graph, Value

SECANTS = 16  # twelve were seen to reach 1e-5, sixteen 1e-14


def graph_of_mean_cdf(graph: Graph, flows: SplineFlow, level: Value, features: Value) -> Value:
    """Return the mean of the members' conditional CDFs, evaluated side by side: (members, n, 1)."""
    for conditioner in flows.conditioners:
        hidden, last = all_but_last(graph, conditioner, features)
        start = 0
        if flows.shift:
            start = PLACES
            numbers = [linear(last, hidden, i, i + 1) for i in range(start)]
            level = _shift_logit(graph, level, *numbers)
        ends = np.cumsum([start, BINS, BINS, BINS + 1])
        widths, heights, slopes = (linear(last, hidden, *ends[i : i + 2]) for i in range(3))
        level = _spline(graph, level, widths, heights, slopes)
    return graph.add("ReduceMean", level, axes=[0], keepdims=0)


def graph_of_inverse(graph: Graph, flows: SplineFlow, level: Value, features: Value) -> Value:
    """Return where the mean of the members' CDFs has a level, by secants between two bounds.

    A bound that stays where it is counts half (the "Illinois" rule), or it would stay for ever.
    """
    edge = np.finfo(np.float64).eps

    def height(x: Value) -> Value:
        mean = graph_of_mean_cdf(graph, flows, graph.add("Sigmoid", x), features)
        return graph.logit(mean, edge, 1 - edge)

    before, here = graph.constant([[-FARTHEST]]), graph.constant([[FARTHEST]])
    lowest, highest = height(before), height(here)
    target = graph.logit(level, edge, 1 - edge).clip(lowest, highest)
    under, over = lowest - target, highest - target
    for _ in range(SECANTS):
        rise = over - under
        x = graph.where(rise.equals(0.0), here, here - over * (here - before) / rise)
        off = height(x) - target
        passed = off * over < 0.0
        before = graph.where(passed, here, before)
        under = graph.where(passed, over, 0.5 * under)
        here, over = x, off
    return graph.add("Sigmoid", here)


def _shift_logit(
    graph: Graph, level: Value, shift: Value, log_width: Value, log_above: Value, log_below: Value
) -> Value:
    edge = np.finfo(np.float64).eps
    width, above, below = (graph.add("Exp", -1.0 * x) for x in (log_width, log_above, log_below))
    middle = (graph.logit(level, edge, 1 - edge) - shift) * width
    over, under = graph.softplus(middle - END), graph.softplus(-1.0 * middle - END)
    return graph.add("Sigmoid", middle + (above - 1.0) * over - (below - 1.0) * under)


def _spline(graph: Graph, x: Value, widths: Value, heights: Value, slopes: Value) -> Value:
    """Return the monotone rational-quadratic spline of Gregory and Delbourgo at x on [0, 1]."""
    across, up = _knots(graph, widths), _knots(graph, heights)
    slope = graph.softplus(slopes + IDENTITY_SLOPE) + LEAST
    # One in the bin of x and zero in the others; whatever is beyond the ends is in the outermost.
    first, last = np.eye(BINS)[[0, -1]]
    passed = [graph.where(knot < x, 1.0, 0.0) for knot in _ends(graph, across)]
    here = graph.where(passed[0] + first > 0.5, 1.0, 0.0) - passed[1] * (1 - last)

    def ends(values: Value) -> tuple[Value, Value]:
        low, high = (
            graph.add("ReduceSum", here * end, axes=[-1], keepdims=1)
            for end in _ends(graph, values)
        )
        return low, high

    (x0, x1), (y0, y1), (d0, d1) = ends(across), ends(up), ends(slope)
    run, rise = x1 - x0, y1 - y0
    secant, t = rise / run, (x - x0) / run
    both = t * (1 - t)
    y = y0 + rise * (secant * t * t + d0 * both) / (secant + (d0 + d1 - 2 * secant) * both)
    return y.clip(0.0, 1.0)


def _ends(graph: Graph, values: Value) -> list[Value]:
    """Return what is given at the knots for the lower and the upper end of each bin."""
    return [graph.add("Gather", values, i + np.arange(BINS), axis=2) for i in (0, 1)]


def _knots(graph: Graph, logits: Value) -> Value:
    """Return increasing knots from 0 to 1 whose distances are a softmax with a floor."""
    shares = graph.add("Softmax", logits, axis=-1)
    sums = np.triu(np.ones((BINS, BINS + 1)), 1)
    return shares @ ((1 - BINS * LEAST) * sums) + LEAST * np.arange(BINS + 1.0)
