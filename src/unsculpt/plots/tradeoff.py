"""Sculpting against rejection, the figure by which decorrelated taggers are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats
from unsculpt.plots.style import styled


class Line(NamedTuple):
    """One family of taggers.

    Attributes:
        label: in the legend.
        colour: of line and band.
        filled: whether the circles are filled, as they are after a flow.
        rejection: (strengths, seeds).
        inverse_jsd: (strengths, seeds).
    """

    label: str
    colour: str
    filled: bool
    rejection: ArrayLike
    inverse_jsd: ArrayLike


class IdealCurve(NamedTuple):
    """What random selections reach: mean and spread of 1/JSD at each rejection."""

    rejection: Floats
    mean: Floats
    spread: Floats


@styled
def tradeoff(
    panels: Sequence[tuple[Sequence[Line], IdealCurve]],
    *,
    titles: Sequence[tuple[str, str]] = (("$R_{50}$", "$1/\\mathrm{JSD}_{50}$"),),
) -> Figure:
    """Draw 1/JSD against rejection: a point for each strength, a band from lowest to highest seed.

    Args:
        panels: for each panel its lines and its ideal curve.
        titles: for each panel what its axes are called.
    """
    figure = Figure(figsize=(1 + 5 * len(panels), 5), layout="constrained")
    plots = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (lines, ideal), (xlabel, ylabel) in zip(plots, panels, titles, strict=True):
        _ideal(axes, ideal)
        for line in lines:
            _line(axes, line)
        axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log")
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def _ideal(axes: Axes, ideal: IdealCurve) -> None:
    axes.plot(ideal.rejection, ideal.mean, color="black", linestyle="--", label="ideal")
    axes.fill_between(
        ideal.rejection,
        ideal.mean - ideal.spread,
        ideal.mean + ideal.spread,
        color="black",
        alpha=0.12,
        linewidth=0,
    )


def _line(axes: Axes, line: Line) -> None:
    rejection, inverse = (np.asarray(x, float) for x in (line.rejection, line.inverse_jsd))
    x, y = rejection.mean(axis=1), inverse.mean(axis=1)
    axes.plot(
        x,
        y,
        color=line.colour,
        marker="o",
        markersize=5,
        markerfacecolor=line.colour if line.filled else "white",
        linestyle="-" if line.filled else ":",
        linewidth=1,
        label=line.label,
    )
    low, high = inverse.min(axis=1), inverse.max(axis=1)
    if len(x) > 1:
        axes.fill_between(x, low, high, color=line.colour, alpha=0.2, linewidth=0)
    else:
        axes.errorbar(x, y, [y - low, high - y], color=line.colour, linewidth=1, capsize=3)
