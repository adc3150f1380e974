"""Any number in bins of the protected attribute."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.style import COLOURS, log_axis, styled

Curves = Mapping[str, Interval[Floats]]


@styled
def in_bins(
    panels: Mapping[str, Curves], axis: Axis, *, log: Collection[str] = (), share: bool = False
) -> Figure:
    """Draw labelled values in the bins of an axis, with their errors, one panel beside another.

    Args:
        panels: the curves by label, for each panel by what its vertical axis is called.
        axis: the attribute and the bins the values belong to.
        log: the panels that have a logarithmic vertical axis.
        share: whether the panels have one vertical range.

    >>> mass = np.array([60.0, 80.0, 120.0])
    >>> axis = Axis("mass [GeV]", mass, edges=np.array([50.0, 100.0, 150.0]))
    >>> values = np.array([0.10, 0.12])
    >>> curves = {"decorrelated": Interval(values, values - 0.01, values + 0.01)}
    >>> figure = in_bins({"efficiency": curves}, axis)
    """
    figure = Figure(figsize=(1.2 + 3.5 * len(panels), 3.6), layout="constrained")
    plots = figure.subplots(1, len(panels), squeeze=False, sharey=share)[0]
    for axes, (title, curves) in zip(plots, panels.items(), strict=True):
        if title in log:
            log_axis(axes)
        _draw(axes, curves, axis)
        axes.set(ylabel=title)
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def _draw(axes: Axes, curves: Curves, axis: Axis) -> None:
    middle, half = (axis.edges[1:] + axis.edges[:-1]) / 2, np.diff(axis.edges) / 2
    for (label, curve), colour in zip(curves.items(), COLOURS, strict=False):
        # An empty bin has no value, and a cut that no background passes an infinite one.
        known = np.isfinite(curve.value)
        value, low, high = (numbers[known] for numbers in curve)
        axes.errorbar(
            middle[known],
            value,
            np.nan_to_num([value - low, high - value], posinf=0),
            half[known],
            color=colour,
            fmt=".",
            linewidth=1,
            label=label,
        )
    axis.dress(axes)


def effective_events(axis: Axis, chosen: Mask, sample_weight: ArrayLike | None) -> Floats:
    """Return in each bin how many unweighted events would be as precise as the chosen ones."""
    weight = np.ones(len(chosen)) if sample_weight is None else np.asarray(sample_weight, float)
    total, squares = (
        np.histogram(axis.values[chosen], axis.edges, weights=weight[chosen] ** power)[0]
        for power in (1.0, 2.0)
    )
    return np.where(squares > 0, total, 0) ** 2 / np.where(squares > 0, squares, 1)


def binomial_error(efficiency: Floats, events: Floats) -> Floats:
    """Return the error of an efficiency; NaN where there is none.

    Where none of a few events pass, or all, it is not zero: as if half an event more had come.
    """
    least = 0.5 / (events + 1)
    inside = np.clip(efficiency, least, 1 - least)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(inside * (1 - inside) / events))
