"""The background's efficiency in the plane of two attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, weight_column
from unsculpt.metrics import Interval
from unsculpt.metrics.binning import bin_index
from unsculpt.metrics.residuals import pass_ratio
from unsculpt.metrics.separation import highest_cut
from unsculpt.plots.axis import Axis
from unsculpt.plots.style import styled

MOST = 5.0  # errors, at the ends of the colours


def plane(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    first: ArrayLike | Axis,
    second: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.1,
    names: tuple[str, str] = ("mass [GeV]", "pt [GeV]"),
    bins: int = 10,
) -> Figure:
    """Draw by how many errors the background's efficiency in each cell is off the inclusive one.

    Args:
        scores: the scores by what the figure calls them, (n,) each, a panel each.
        labels: 1 for signal, 0 for background.
        first: the attribute on the horizontal axis, (n,); or an `Axis` of it.
        second: the attribute on the vertical axis, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiency: fraction of the background, at all values, that passes.
        names: names of the attributes, on the axes.
        bins: bins of each attribute, with equal numbers of background events.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.two_attributes(5000, 500, seed=1)
    >>> figure = plane({"tagger": toy.score}, toy.label, *toy.protected.T)
    """
    x, y = (
        equal_shares(Axis.from_events(values, labels, 1, name), labels, bins)
        for values, name in zip((first, second), names, strict=True)
    )
    return draw_plane(background_cells(scores, labels, x, y, sample_weight, efficiency), x, y)


def equal_shares(axis: Axis, labels: ArrayLike, bins: int) -> Axis:
    """Return the attribute in bins that hold equal numbers of background events."""
    values = axis.values[np.asarray(labels) == 0]
    values = values[(values >= axis.edges[0]) & (values <= axis.edges[-1])]
    # Quantiles coincide where many events share a value.
    return replace(axis, edges=np.unique(np.quantile(values, np.linspace(0, 1, bins + 1))))


def background_cells(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    first: Axis,
    second: Axis,
    sample_weight: ArrayLike | None,
    efficiency: float,
) -> dict[str, Interval[Floats]]:
    """Return efficiencies in cells, (first, second), over the inclusive one, with errors."""
    background = np.asarray(labels) == 0
    weight = weight_column(sample_weight, len(background))[background]
    shape = len(first.edges) - 1, len(second.edges) - 1
    row, column = (bin_index(axis.values[background], axis.edges) for axis in (first, second))
    outside = (row == shape[0]) | (column == shape[1])
    cell = np.where(outside, shape[0] * shape[1], row * shape[1] + column)
    found = {}
    for label, values in scores.items():
        score = np.asarray(values)[background]
        passing = score >= highest_cut(score, weight, efficiency)
        ratio = pass_ratio(passing, weight, cell, shape[0] * shape[1])
        found[label] = Interval(*(x.reshape(shape) for x in ratio))
    return found


@styled
def draw_plane(cells: Mapping[str, Interval[Floats]], first: Axis, second: Axis) -> Figure:
    """Draw one panel a score."""
    figure = Figure(figsize=(1.4 + 3.4 * len(cells), 3.4), layout="constrained")
    panels = figure.subplots(1, len(cells), squeeze=False, sharey=True)[0]
    for axes, (label, ratio) in zip(panels, cells.items(), strict=True):
        pulls = (ratio.value - 1) / (ratio.high - ratio.value)
        # Cells of one size: of equal numbers of events, those in a tail would cover all others.
        drawn = axes.pcolormesh(pulls.T, cmap="RdBu_r", vmin=-MOST, vmax=MOST)
        axes.set_title(label)
        axes.set(xlabel=first.name)
        axes.set_xticks(range(len(first.edges)), _ends(first), rotation=90, fontsize="small")
        axes.set_yticks(range(len(second.edges)), _ends(second), fontsize="small")
        axes.label_outer()
    panels[0].set(ylabel=second.name)
    figure.colorbar(drawn, ax=panels, extend="both", label="off by so many errors", pad=0.02)
    return figure


def _ends(axis: Axis) -> list[str]:
    return [f"{edge:.4g}" for edge in axis.edges]
