"""The sculpting of a score and what is left of it."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from unsculpt import metrics

Floats = NDArray[np.float64]

# Okabe and Ito's palette: distinct to colour-blind eyes and in grey print.
ALL, RAW, FLAT = "#666666", "#D55E00", "#0072B2"


def before_after(
    raw: ArrayLike,
    flat: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
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
        efficiency: of the signal, at which both scores are cut.
        name: of the protected attribute, on the axis.
        bins: of the spectrum.
    """
    scores = {"raw score": (np.asarray(raw), RAW), "decorrelated score": (np.asarray(flat), FLAT)}
    labels, mass = np.asarray(labels), np.asarray(protected, dtype=float)
    background = labels == 0
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[3, 1], hspace=0.05)
    spectrum = figure.add_subplot(grid[0, 0])
    ratio = figure.add_subplot(grid[1, 0], sharex=spectrum)

    edges = metrics.bin_edges(mass[background], bins)
    everything = np.histogram(mass[background], edges)[0]
    spectrum.stairs(
        everything / everything.sum(), edges, color=ALL, label="all", fill=True, alpha=0.3
    )
    ratio.axhline(1, color=ALL, linewidth=0.8)
    for label, (score, colour) in scores.items():
        cut = metrics.threshold(score, labels, efficiency=efficiency)
        passing = np.histogram(mass[background & (score >= cut)], edges)[0]
        _spectrum(spectrum, ratio, passing, everything, edges, label, colour)
    spectrum.set(yscale="log", ylabel="fraction of background", ylim=(1e-5, 2))
    spectrum.set_title(f"background after a cut at {efficiency:.0%} signal", fontsize="medium")
    spectrum.legend(frameon=False, fontsize="small")
    spectrum.tick_params(labelbottom=False)
    ratio.set(yscale="log", ylim=(0.08, 12), ylabel="to all", xlabel=name, xlim=edges[[0, -1]])

    slices = np.quantile(mass[background], np.linspace(0, 1, 6))
    for column, (label, (score, _)) in enumerate(scores.items(), start=1):
        axes = figure.add_subplot(grid[:, column])
        _scores_in_slices(axes, score[background], mass[background], slices)
        axes.set(xlabel=label, ylabel="density of background", yscale="log", ylim=(0.02, 50))
        axes.set_title(f"{label} in slices of {name}", fontsize="medium")
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center")
    return figure


def _spectrum(
    axes: Axes,
    ratio: Axes,
    passing: NDArray[np.int64],
    everything: NDArray[np.int64],
    edges: Floats,
    label: str,
    colour: str,
) -> None:
    axes.stairs(
        passing / passing.sum(), edges, color=colour, label=f"cut on {label}", linewidth=1.3
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = everything.sum() / passing.sum() / everything
    middle, filled = (edges[1:] + edges[:-1]) / 2, passing > 0
    ratio.errorbar(
        middle[filled],
        (passing * scale)[filled],
        (np.sqrt(passing) * scale)[filled],
        color=colour,
        fmt=".",
        markersize=3,
        linewidth=0.8,
    )


def _scores_in_slices(axes: Axes, score: Floats, mass: Floats, slices: Floats) -> None:
    edges = np.linspace(score.min(), score.max(), 31)
    colours = colormaps["viridis"](np.linspace(0, 0.9, len(slices) - 1))
    for low, high, colour in zip(slices[:-1], slices[1:], colours, strict=True):
        inside = (mass >= low) & (mass < high)
        density = np.histogram(score[inside], edges, density=True)[0]
        axes.stairs(density, edges, color=colour, label=f"{low:.0f} to {high:.0f}")
    axes.margins(x=0)
