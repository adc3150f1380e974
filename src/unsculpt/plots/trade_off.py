"""Separation against sculpting along the way from a score to a flat one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from unsculpt.metrics import WorkingPoint
from unsculpt.plots.style import ALL, COLOURS, log_axis, styled


@styled
def trade_off(curves: Mapping[str, Sequence[WorkingPoint]], *, efficiency: float = 0.5) -> Figure:
    """Draw 1/JSD against rejection, a curve a score, beside what random selections reach.

    Args:
        curves: what `metrics.trade_off` returns, from the raw score (open) to the flat one
            (filled), by the names in the legend.
        efficiency: the signal efficiency, for the names of the axes.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> from unsculpt import metrics
    >>> flat = toy.cdf(toy.score, toy.protected)
    >>> points = metrics.trade_off(toy.score, flat, toy.label, toy.protected)
    >>> figure = trade_off({"tagger": points})
    """
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.subplots()
    every = sorted((point for points in curves.values() for point in points), key=_rejection)
    x = [point.rejection for point in every]
    mean, spread = np.array([point.ideal for point in every]).T
    axes.plot(x, mean, "--", color=ALL, label="ideal")
    axes.fill_between(x, mean - spread, mean + spread, color=ALL, alpha=0.15, linewidth=0)
    for (label, points), colour in zip(curves.items(), COLOURS[1:], strict=False):
        at = [point.rejection for point in points], [point.inverse_jsd for point in points]
        axes.plot(*at, ".-", color=colour, label=label)
        for end, face in ((0, "white"), (-1, colour)):
            axes.plot(at[0][end], at[1][end], "o", color=colour, markerfacecolor=face)
    axes.margins(x=0.05)
    percent = f"{100 * efficiency:g}"
    log_axis(axes)
    axes.yaxis.set_minor_formatter(LogFormatter())  # it may reach over no power of ten at all
    axes.set(xlabel=f"R{percent}", ylabel=f"1/JSD{percent}")
    figure.legend(loc="outside upper center", ncols=4)
    return figure


def _rejection(point: WorkingPoint) -> float:
    return point.rejection
