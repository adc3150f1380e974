"""The sculpting of a score and what is left of it."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.axis import Axis
from unsculpt.plots.score_slices import background_slices, draw_slices
from unsculpt.plots.spectrum import background_spectra, draw_spectra
from unsculpt.plots.style import styled


@styled
def before_after(
    raw: ArrayLike,
    flat: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
    name: str = "mass [GeV]",
    bins: int | ArrayLike = 50,
) -> Figure:
    """Draw the background's spectrum after cuts on two scores, and both scores in slices of it.

    Args:
        raw: the score as it came, (n,).
        flat: the decorrelated score, (n,).
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiency: the signal efficiency at which both scores are cut.
        name: name of the protected attribute, on the axis.
        bins: number of equal bins across the background, or their edges.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> flat = toy.cdf(toy.score, toy.protected)
    >>> figure = before_after(toy.score, flat, toy.label, toy.protected)
    """
    scores = {"raw score": np.asarray(raw, float), "decorrelated score": np.asarray(flat, float)}
    axis = Axis.from_events(protected, labels, bins, name)
    # First, as this also checks scores, labels and weights.
    spectra = background_spectra(
        scores, labels, axis, sample_weight=sample_weight, efficiency=efficiency
    )
    slices = background_slices(scores, labels, axis, sample_weight=sample_weight)

    figure = Figure(figsize=(11, 3.8), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[3, 1], hspace=0.05)
    upper = figure.add_subplot(grid[0, 0])
    ratio = figure.add_subplot(grid[1, 0], sharex=upper)
    draw_spectra(upper, ratio, spectra, axis)
    upper.set_title(f"background after a cut at {efficiency:.0%} signal")
    panels = [figure.add_subplot(grid[:, column]) for column in (1, 2)]
    draw_slices(panels, slices, name)
    for axes, label in zip(panels, scores, strict=True):
        axes.set_title(f"{label} in slices of {name}")
    return figure
