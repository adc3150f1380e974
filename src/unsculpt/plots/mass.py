"""The spectrum of the protected attribute."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.style import styled


@styled
def mass_distribution(
    mass: ArrayLike, *, bins: ArrayLike, sample_weight: ArrayLike | None = None
) -> Figure:
    """Draw the density of the background's mass, before any cut.

    Args:
        mass: of background events, (n,), in GeV.
        bins: the edges.
        sample_weight: event weights.
    """
    edges = np.asarray(bins, float)
    density, _ = np.histogram(mass, edges, weights=sample_weight, density=True)
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    axes.stairs(density, edges, color="#0072B2", fill=True, alpha=0.5, label="QCD")
    axes.set(xlabel="mass [GeV]", ylabel="density [1/GeV]", xlim=(edges[0], edges[-1]))
    axes.legend()
    return figure
