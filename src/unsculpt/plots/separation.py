"""Signal against background in bins of the protected attribute."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.in_bins import Curves, binomial_error, effective_events, in_bins


def separation(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
    name: str = "mass [GeV]",
    bins: int | ArrayLike = 20,
) -> Figure:
    """Draw the AUC, and rejection and signal efficiency of one inclusive cut, in each bin.

    Args:
        scores: the scores by what the legend calls them, (n,) each.
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiency: the inclusive signal efficiency at which every score is cut.
        name: name of the protected attribute, on the axis.
        bins: number of equal bins across the background, or their edges.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> figure = separation({"tagger": toy.score}, toy.label, toy.protected)
    """
    axis = Axis.from_events(protected, labels, bins, name)
    panels = separation_in_bins(
        scores, labels, axis, sample_weight=sample_weight, efficiency=efficiency
    )
    return draw_separation(panels, axis)


def draw_separation(panels: Mapping[str, Curves], axis: Axis) -> Figure:
    """Draw one panel a number."""
    return in_bins(panels, axis, log=["background rejection"])


def separation_in_bins(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    axis: Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
) -> dict[str, dict[str, Interval[Floats]]]:
    """Return AUC, rejection and signal efficiency in bins, with their errors, by score."""
    signal = np.asarray(labels) == 1
    n_signal, n_background = (
        effective_events(axis, chosen, sample_weight) for chosen in (signal, ~signal)
    )
    panels: dict[str, dict[str, Interval[Floats]]] = {
        "AUC": {},
        "background rejection": {},
        "signal efficiency": {},
    }
    for label, score in scores.items():
        events = (score, labels, axis.values)
        area = metrics.auc_in_bins(*events, bins=axis.edges, sample_weight=sample_weight)
        error = _area_error(area, n_signal, n_background)
        panels["AUC"][label] = Interval(area, area - error, area + error)

        background, passing = (
            metrics.efficiency_in_bins(
                *events,
                bins=axis.edges,
                efficiency=efficiency,
                label=which,
                sample_weight=sample_weight,
            )
            for which in (0, 1)
        )
        error = binomial_error(passing, n_signal)
        panels["signal efficiency"][label] = Interval(passing, passing - error, passing + error)
        error = binomial_error(background, n_background)
        with np.errstate(divide="ignore", invalid="ignore"):
            rejection, factor = 1 / np.maximum(background, 0), 1 + error / background
            interval = Interval(rejection, rejection / factor, rejection * factor)
        panels["background rejection"][label] = interval
    return panels


def _area_error(area: Floats, n_signal: Floats, n_background: Floats) -> Floats:
    """Return the error of areas under ROC curves (Hanley and McNeil, Radiology 143, 1982)."""
    two_signal, two_background = area / (2 - area), 2 * area**2 / (1 + area)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (
            area * (1 - area)
            + (n_signal - 1) * (two_signal - area**2)
            + (n_background - 1) * (two_background - area**2)
        ) / (n_signal * n_background)
    return np.asarray(np.sqrt(np.clip(variance, 0, None)))
