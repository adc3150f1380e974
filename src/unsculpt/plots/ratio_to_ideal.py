"""How close to ideal, against anything."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.style import styled

Curve = tuple[str, str, ArrayLike, ArrayLike]
"""Colour, style of the line, positions (n,) and ratios (n, seeds)."""


@styled
def ratio_to_ideal(
    panels: Mapping[str, Mapping[str, Curve]], *, log: tuple[str, ...] = ()
) -> Figure:
    """Draw the ratio of 1/JSD to that of random selections, with the range over seeds.

    Args:
        panels: the curves by label, for each panel by what its horizontal axis is called.
        log: the panels that have a logarithmic horizontal axis.
    """
    figure = Figure(figsize=(1 + 4.6 * len(panels), 4.6), layout="constrained")
    plots = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (xlabel, curves) in zip(plots, panels.items(), strict=True):
        axes.axhline(1, color="black", linestyle="--", linewidth=1)
        for label, (colour, style, x, ratios) in curves.items():
            values = np.asarray(ratios, float)
            axes.plot(x, values.mean(axis=1), style, color=colour, marker="o", ms=4, label=label)
            axes.fill_between(
                x, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.12, linewidth=0
            )
        if xlabel in log:
            axes.set_xscale("log")
        axes.set(xlabel=xlabel)
        axes.legend(fontsize="small")
    plots[0].set(ylabel="1/JSD$_{50}$, ratio to ideal")
    return figure
