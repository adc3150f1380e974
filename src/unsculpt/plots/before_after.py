"""The sculpting of a score and what is left of it."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from unsculpt import metrics

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Okabe and Ito's palette: distinct to colour-blind eyes and in grey print.
ALL, RAW, FLAT = "#666666", "#D55E00", "#0072B2"


def before_after(
    raw: ArrayLike,
    flat: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
    name: str = "mass [GeV]",
    bins: int = 50,
) -> Figure:
    """Draw the background's spectrum after cuts on two scores, and both scores in slices of it.

    Args:
        raw: the score as it came, (n,).
        flat: the decorrelated score, (n,).
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, (n,).
        sample_weight: event weights, one each if not given.
        efficiency: of the signal, at which both scores are cut.
        name: of the protected attribute, on the axis.
        bins: of the spectrum.
    """
    scores = {"raw score": np.asarray(raw, float), "decorrelated score": np.asarray(flat, float)}
    # First, as this also checks scores, labels and weights.
    passing = [
        score
        >= metrics.threshold(score, labels, efficiency=efficiency, sample_weight=sample_weight)
        for score in scores.values()
    ]
    background = np.asarray(labels) == 0
    mass = np.asarray(protected, float)[background]
    weight = np.ones(len(background)) if sample_weight is None else np.asarray(sample_weight, float)
    weight = weight[background]

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[3, 1], hspace=0.05)
    spectrum = figure.add_subplot(grid[0, 0])
    ratio = figure.add_subplot(grid[1, 0], sharex=spectrum)
    cuts = {
        f"cut on {label}": passes[background] for label, passes in zip(scores, passing, strict=True)
    }
    _spectra(spectrum, ratio, mass, weight, cuts, metrics.bin_edges(mass, bins))
    spectrum.set_title(f"background after a cut at {efficiency:.0%} signal", fontsize="medium")
    ratio.set(xlabel=name)

    panels = [figure.add_subplot(grid[:, column]) for column in (1, 2)]
    densities = []
    for axes, (label, score) in zip(panels, scores.items(), strict=True):
        densities += _scores_in_slices(axes, score[background], mass, weight)
        axes.set(xlabel=label, ylabel="density of background")
        axes.set_title(f"{label} in slices of {name}", fontsize="medium")
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center")
    for axes in panels:  # one range, so that the eye can compare them
        axes.set(yscale="log", ylim=_log_limits(densities))
    return figure


def _spectra(
    axes: Axes, ratio: Axes, mass: Floats, weight: Floats, cuts: dict[str, Mask], edges: Floats
) -> None:
    """Draw the spectrum of all events and of those that pass each cut, and their ratios."""
    everything = _shares(np.histogram(mass, edges, weights=weight)[0])
    axes.stairs(everything, edges, color=ALL, label="all", fill=True, alpha=0.3)
    ratio.axhline(1, color=ALL, linewidth=0.8)
    middle, shapes, ratios = (edges[1:] + edges[:-1]) / 2, [everything], [np.array([0.5, 2])]
    for (label, passes), colour in zip(cuts.items(), (RAW, FLAT), strict=True):
        content = np.histogram(mass[passes], edges, weights=weight[passes])[0]
        variance = np.histogram(mass[passes], edges, weights=weight[passes] ** 2)[0]
        shape = _shares(content)
        axes.stairs(shape, edges, color=colour, label=label, linewidth=1.3)
        # With negative weights a bin can hold less than nothing, which a log axis cannot show.
        filled = (shape > 0) & (everything > 0)
        value = shape[filled] / everything[filled]
        error = value * np.sqrt(variance[filled]) / content[filled]
        ratio.errorbar(
            middle[filled], value, error, color=colour, fmt=".", markersize=3, linewidth=0.8
        )
        shapes.append(shape)
        ratios.append(value)
    axes.set(yscale="log", ylabel="fraction of background", ylim=_log_limits(shapes))
    axes.legend(frameon=False, fontsize="small")
    axes.tick_params(labelbottom=False)
    every = np.concatenate(ratios)
    ratio.set(yscale="log", ylim=(every.min() / 1.5, every.max() * 1.5), ylabel="to all")
    ratio.set(xlim=(edges[0], edges[-1]))


def _scores_in_slices(axes: Axes, score: Floats, mass: Floats, weight: Floats) -> list[Floats]:
    """Draw the density of the score in fifths of the events by mass, and return them."""
    # Quantiles coincide where many events share a mass.
    slices = np.unique(np.quantile(mass, np.linspace(0, 1, 6)))
    index = np.clip(np.searchsorted(slices, mass, side="right"), 1, len(slices) - 1)
    edges = np.histogram_bin_edges(score, 30)
    colours = colormaps["viridis"](np.linspace(0, 0.9, len(slices) - 1))
    densities = []
    for i, colour in enumerate(colours, start=1):
        inside = index == i  # the clip above puts the maximum into the last
        content = np.histogram(score[inside], edges, weights=weight[inside])[0]
        densities.append(_shares(content) / np.diff(edges))
        label = f"{slices[i - 1]:.3g} to {slices[i]:.3g}"
        axes.stairs(densities[-1], edges, color=colour, label=label)
    axes.margins(x=0)
    return densities


def _shares(content: Floats) -> Floats:
    """Return the share of each bin in the total; zeros if there is no total to share."""
    total = content.sum()
    return np.asarray(content / total if total > 0 else np.zeros(len(content)))


def _log_limits(shapes: list[Floats]) -> tuple[float, float]:
    """Return limits that hold all filled bins, two decades at least, and a legend above."""
    values = np.concatenate(shapes)
    peak = values.max()
    low = min(values[values > 0].min() / 1.5, peak / 100)
    return low, peak * (peak / low) ** 0.35
