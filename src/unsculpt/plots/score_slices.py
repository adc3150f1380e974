"""A score in slices of the protected attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.spectrum import Spectrum, log_limits
from unsculpt.plots.style import log_axis, styled


class Slices(NamedTuple):
    """The density of a score in each slice of the attribute, with its error."""

    score: str
    edges: Floats
    densities: dict[str, Interval[Floats]]


def score_slices(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    name: str = "mass [GeV]",
) -> Figure:
    """Draw the background's density of each score in fifths of its events by the attribute.

    Args:
        scores: the scores by what the figure calls them, (n,) each.
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories (a slice each), (n,); or an
            `Axis` of it.
        sample_weight: event weights, one each if not given.
        name: name of the protected attribute, in the titles.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> figure = score_slices({"tagger": toy.score}, toy.label, toy.protected)
    """
    slices = background_slices(
        scores, labels, Axis.from_events(protected, labels, 1, name), sample_weight=sample_weight
    )
    return draw_score_slices(slices, name)


@styled
def draw_score_slices(slices: list[Slices], name: str) -> Figure:
    """Draw one panel a score beside the other."""
    figure = Figure(figsize=(1.2 + 4.4 * len(slices), 3.8), layout="constrained")
    panels = figure.subplots(1, len(slices), squeeze=False)[0]
    draw_slices(panels, slices, name)
    return figure


def background_slices(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    axis: Axis,
    *,
    sample_weight: ArrayLike | None = None,
) -> list[Slices]:
    """Return the background's density of each score in slices of the attribute."""
    background = np.asarray(labels) == 0
    slices = _slices(axis, background)
    weight = np.ones(len(axis.values)) if sample_weight is None else np.asarray(sample_weight)
    result = []
    for label, values in scores.items():
        score = np.asarray(values, float)
        edges = np.histogram_bin_edges(score[background], 30)
        densities = {}
        for where, chosen in slices.items():
            shares = Spectrum.of_events(score[chosen], edges, weight[chosen]).interval
            densities[where] = Interval(*(x / np.diff(edges) for x in shares))
        result.append(Slices(label, edges, densities))
    return result


def draw_slices(panels: Sequence[Axes], slices: list[Slices], name: str) -> None:
    """Draw each score in its own panel, on one scale, so that the eye can compare them."""
    limits = log_limits([density.value for panel in slices for density in panel.densities.values()])
    for axes, (label, edges, densities) in zip(panels, slices, strict=True):
        colours = colormaps["viridis"](np.linspace(0, 0.75, len(densities)))  # no yellow on white
        for (where, density), colour in zip(densities.items(), colours, strict=True):
            axes.stairs(density.value, edges, color=colour, label=where)
        log_axis(axes)
        axes.set(xlabel=label, ylabel="density of background", ylim=limits)
        axes.set(xlim=(edges[0], edges[-1]))
        axes.legend(ncols=2, loc="upper center", title=name)


def _slices(axis: Axis, background: Mask) -> dict[str, Mask]:
    if axis.categories:
        return {
            label: background & (axis.values == code) for code, label in enumerate(axis.categories)
        }
    # Quantiles coincide where many events share a value.
    ends = np.unique(np.quantile(axis.values[background], np.linspace(0, 1, 6)))
    # Clipped, so that the largest value is in the last slice.
    index = np.clip(np.searchsorted(ends, axis.values, side="right"), 1, len(ends) - 1)
    return {
        f"{ends[i - 1]:.3g} to {ends[i]:.3g}": background & (index == i)
        for i in range(1, len(ends))
    }
