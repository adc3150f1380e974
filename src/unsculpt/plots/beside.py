"""Data beside simulation: values in bins of both, and their ratio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unsculpt.inputs import Floats
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.style import ALL, FLAT, log_axis, styled

MOST = 1.0  # that the axis of ratios goes from one


class Beside(NamedTuple):
    """Values in the bins of an axis, in simulation and in data."""

    simulation: Interval[Floats]
    data: Interval[Floats]

    @property
    def ratio(self) -> Interval[Floats]:
        """Return data over simulation with the errors of both; NaN where one has nothing."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(self.data.value > 0, self.data.value / self.simulation.value, np.nan)
            value = np.where(self.simulation.value > 0, value, np.nan)
            parts = ((x.high - x.low) / 2 / x.value for x in self)
            error = value * np.hypot(*parts)
        return Interval(value, value - error, value + error)


@styled
def beside(panels: Mapping[str, Beside], axis: Axis, what: str, *, log: bool = False) -> Figure:
    """Draw data as points on simulation, one panel beside another, and the ratios below.

    Args:
        panels: what to compare, by title.
        axis: the attribute and the bins the values belong to.
        what: the values are, on the vertical axis.
        log: whether that is logarithmic.
    """
    figure = Figure(figsize=(1.2 + 2.9 * len(panels), 4.2), layout="constrained")
    upper, lower = figure.subplots(2, len(panels), sharex=True, height_ratios=[2, 1], squeeze=False)
    for axes, ratio, (title, own) in zip(upper, lower, panels.items(), strict=True):
        _draw(axes, own, axis)
        if log:
            log_axis(axes)
        axes.set_title(title)
        ratio.axhline(1, color=ALL, linewidth=0.8)
        _points(ratio, own.ratio, axis)
        axis.dress(ratio)
        ratio.set_xlabel("")
    _same_reach(lower, [own.ratio for own in panels.values()])
    upper[0].set_ylabel(what)
    lower[0].set_ylabel("data / simulation", loc="center")
    figure.supxlabel(axis.name, fontsize="medium")
    figure.legend(*upper[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _draw(axes: Axes, own: Beside, axis: Axis) -> None:
    value, low, high = (np.nan_to_num(x) for x in own.simulation)
    axes.stairs(value, axis.edges, color=ALL, linewidth=1.2, label="simulation")
    axes.stairs(high, axis.edges, baseline=low, fill=True, color=ALL, alpha=0.25)
    _points(axes, own.data, axis)


def _points(axes: Axes, values: Interval[Floats], axis: Axis) -> None:
    middle = (axis.edges[1:] + axis.edges[:-1]) / 2
    known = np.isfinite(values.value)
    value, low, high = (x[known] for x in values)
    errors = np.nan_to_num([value - low, high - value])
    axes.errorbar(
        middle[known], value, errors, color=FLAT, fmt=".", markersize=4, linewidth=1, label="data"
    )


def _same_reach(panels: Iterable[Axes], ratios: Sequence[Interval[Floats]]) -> None:
    """Let all ratios have one axis, that holds most of the points with their errors."""
    far = np.concatenate([np.maximum(abs(r.high - 1), abs(r.low - 1)) for r in ratios])
    far = far[np.isfinite(far)]
    reach = float(np.clip(1.2 * np.quantile(far, 0.9), 0.05, MOST)) if len(far) else MOST
    for axes in panels:
        axes.set_ylim(1 - reach, 1 + reach)
