"""The background's spectrum after harder and harder cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from unsculpt.plots.style import styled

Counts = NDArray[np.integer]


@styled
def cut_spectra(
    edges: ArrayLike,
    rejections: Sequence[float],
    spectra: Mapping[str, tuple[str, ArrayLike]],
    random: ArrayLike,
    *,
    name: str = "mass [GeV]",
) -> Figure:
    """Draw the spectra that pass each cut, over the range of random selections of that size.

    Args:
        edges: of the bins.
        rejections: fractions of the background that are rejected, one panel each.
        spectra: colour and contents, (cuts, bins), by method.
        random: contents after random selections, (cuts, draws, bins).
        name: of the attribute.
    """
    edges, bands = np.asarray(edges, float), np.asarray(random)
    columns = (len(rejections) + 1) // 2
    figure = Figure(figsize=(5 * columns, 7), layout="constrained")
    plots = figure.subplots(2, columns, squeeze=False).ravel()
    for i, (axes, rejection) in enumerate(zip(plots, rejections, strict=False)):
        low, high = bands[i].min(axis=0), bands[i].max(axis=0)
        axes.stairs(high, edges, baseline=low, fill=True, color="0.8", label="random")
        for label, (colour, contents) in spectra.items():
            axes.stairs(np.asarray(contents)[i], edges, color=colour, linewidth=1.1, label=label)
        axes.set(yscale="log", xlabel=name, ylabel="background jets", xlim=(edges[0], edges[-1]))
        # An empty bin has no place on a log axis.
        axes.set_ylim(0.5, 3 * high.max())
        axes.set_title(f"{100 * rejection:g}% rejected", fontsize="medium")
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure
