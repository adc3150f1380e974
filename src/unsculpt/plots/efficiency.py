"""The background's efficiency against the protected attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.in_bins import Curves, binomial_error, effective_events, in_bins
from unsculpt.plots.style import ALL

WORKING_POINTS = (0.5, 0.1, 0.05, 0.01)


def efficiency(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiencies: Sequence[float] = WORKING_POINTS,
    name: str = "mass [GeV]",
    bins: int | ArrayLike = 20,
) -> Figure:
    """Draw how much background passes in each bin, for cuts that keep given fractions of it all.

    Args:
        scores: the scores by what the figure calls them, (n,) each, a panel each.
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiencies: fractions of the background, at all values, that pass the cuts.
        name: name of the protected attribute, on the axis.
        bins: number of equal bins across the background, or their edges.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> figure = efficiency({"tagger": toy.score}, toy.label, toy.protected)
    """
    axis = Axis.from_events(protected, labels, bins, name)
    panels = background_efficiencies(
        scores, labels, axis, sample_weight=sample_weight, efficiencies=efficiencies
    )
    return draw_efficiencies(panels, axis, efficiencies)


def background_efficiencies(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    axis: Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiencies: Sequence[float] = WORKING_POINTS,
) -> dict[str, dict[str, Interval[Floats]]]:
    """Return the efficiency in bins, with binomial errors, by working point and score."""
    background = np.asarray(labels) == 0
    events = effective_events(axis, background, sample_weight)

    def in_one(score: ArrayLike, point: float) -> Interval[Floats]:
        # To the metric the background is what is kept here.
        value = metrics.efficiency_in_bins(
            score,
            background,
            axis.values,
            bins=axis.edges,
            efficiency=point,
            sample_weight=sample_weight,
        )
        error = binomial_error(value, events)
        return Interval(value, value - error, value + error)

    return {
        label: {
            f"{100 * point:.3g}% of all background": in_one(score, point) for point in efficiencies
        }
        for label, score in scores.items()
    }


def draw_efficiencies(
    panels: Mapping[str, Curves], axis: Axis, efficiencies: Sequence[float]
) -> Figure:
    """Draw one panel a score, with a line where each working point would be flat."""
    figure = in_bins(panels, axis, log=panels, share=True)
    for axes, label in zip(figure.axes, panels, strict=True):
        for point in efficiencies:
            axes.axhline(point, color=ALL, linewidth=0.8, linestyle=":")
        axes.set_title(label, fontsize="medium")
        axes.set_ylabel("")
    # Bins where next to nothing passes would squeeze all others.
    figure.axes[0].set_ylim(min(efficiencies) / 30, 1.5)
    figure.axes[0].set_ylabel("background efficiency", loc="top")
    return figure
