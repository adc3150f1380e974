"""How far from flat: the background's efficiency in bins over the inclusive one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, weight_column
from unsculpt.metrics import Interval
from unsculpt.metrics.binning import bin_index
from unsculpt.metrics.residuals import pass_ratio
from unsculpt.metrics.separation import highest_cuts
from unsculpt.plots.axis import Axis
from unsculpt.plots.in_bins import Curves
from unsculpt.plots.style import ALL, COLOURS, styled

WORKING_POINTS = (0.5, 0.1, 0.01)


def residuals(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiencies: Sequence[float] = WORKING_POINTS,
    map_errors: Sequence[ArrayLike] = (),
    name: str = "mass [GeV]",
    bins: int | ArrayLike = 20,
) -> Figure:
    """Draw the background's efficiency in each bin over the inclusive one, on linear axes.

    Args:
        scores: the scores by what the legend calls them, (n,) each; the last sets the scale.
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiencies: fractions of the background, at all values, that pass; a panel each.
        map_errors: for each efficiency the relative error of the last score's map in each bin,
            drawn as a band around one.
        name: name of the protected attribute, on the axis.
        bins: number of equal bins across the background, or their edges.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> figure = residuals({"tagger": toy.score}, toy.label, toy.protected)
    """
    axis = Axis.from_events(protected, labels, bins, name)
    panels = background_residuals(
        scores, labels, axis, sample_weight=sample_weight, efficiencies=efficiencies
    )
    return draw_residuals(panels, axis, map_errors)


def background_residuals(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    axis: Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiencies: Sequence[float] = WORKING_POINTS,
) -> dict[str, dict[str, Interval[Floats]]]:
    """Return efficiencies in bins over the inclusive one, with errors, by cut and score."""
    background = np.asarray(labels) == 0
    weight = weight_column(sample_weight, len(background))[background]
    where = bin_index(axis.values[background], axis.edges)
    panels: dict[str, dict[str, Interval[Floats]]] = {
        f"{100 * point:.3g}% kept": {} for point in efficiencies
    }
    for label, values in scores.items():
        score = np.asarray(values)[background]
        cuts = highest_cuts(score, weight, np.array(efficiencies))
        for cut, panel in zip(cuts, panels.values(), strict=True):
            panel[label] = pass_ratio(score >= cut, weight, where, len(axis.edges) - 1)
    return panels


@styled
def draw_residuals(
    panels: Mapping[str, Curves],
    axis: Axis,
    map_errors: Sequence[ArrayLike] = (),
    main: str | None = None,
) -> Figure:
    """Draw a panel for each cut, one below the other; the main curve, or the last, sets the scale.

    The errors of a map are those of that curve.
    """
    figure = Figure(figsize=(6.4, 0.9 + 1.7 * len(panels)), layout="constrained")
    column = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    bands: Sequence[ArrayLike | None] = map_errors or [None] * len(panels)
    for axes, (title, curves), band in zip(column, panels.items(), bands, strict=True):
        _draw(axes, curves, axis, band, main or list(curves)[-1])
        axes.set_ylabel(title, loc="center")
        axis.dress(axes)
        axes.label_outer()
    figure.legend(*column[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.supylabel("efficiency in the bin over that of all background", fontsize="medium")
    return figure


def _draw(axes: Axes, curves: Curves, axis: Axis, band: ArrayLike | None, main: str) -> None:
    middle, half = (axis.edges[1:] + axis.edges[:-1]) / 2, np.diff(axis.edges) / 2
    axes.axhline(1, color=ALL, linewidth=0.8)
    if band is not None:
        error = np.nan_to_num(np.asarray(band))
        axes.stairs(
            1 + error,
            axis.edges,
            baseline=1 - error,
            fill=True,
            color=COLOURS[list(curves).index(main)],
            alpha=0.2,
            label="error of the map",
        )
    reach = _reach(curves[main])
    beside = np.linspace(-0.15, 0.15, len(curves))  # or error bars would hide one another
    for (label, curve), colour, shift in zip(curves.items(), COLOURS, beside, strict=False):
        known = np.isfinite(curve.value)
        value, low, high = (numbers[known] for numbers in curve)
        seen = np.abs(value - 1) <= reach
        x = (middle + 2 * half * shift)[known]
        errors = [(value - low)[seen], (high - value)[seen]]
        axes.errorbar(x[seen], value[seen], errors, color=colour, fmt=".", linewidth=1, label=label)
        for beyond, end, arrow in ((value > 1 + reach, 1, "^"), (value < 1 - reach, -1, "v")):
            height = np.full(beyond.sum(), 1 + 0.93 * end * reach)
            axes.plot(x[beyond], height, arrow, color=colour, markersize=3.5)
    axes.set_ylim(1 - reach, 1 + reach)


def _reach(curve: Interval[Floats]) -> float:
    """Return how far from one the axis goes: to most of this curve's points with their errors."""
    far = np.maximum(np.abs(curve.high - 1), np.abs(curve.low - 1))
    far = far[np.isfinite(far)]
    return float(np.clip(1.3 * np.quantile(far, 0.7), 0.05, 1)) if len(far) else 1.0
