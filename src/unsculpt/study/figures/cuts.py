"""One classifier at harder and harder cuts, after each method."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unsculpt.plots.style import styled
from unsculpt.study.cuts import REJECTIONS
from unsculpt.study.evaluation import MASS_BINS
from unsculpt.study.folder import Arrays
from unsculpt.study.results import Results

METHODS = {
    "none": ("DisCo", "#666666"),
    "paper flow": ("cf-DisCo", "#0072B2"),
    "ours": ("DisCo, our splines", "#009E73"),
    "quantile": ("qr-DisCo", "#D55E00"),
}


@styled
def cut_scan(cuts: Results) -> Figure:
    """Draw 1/JSD at each background rejection, with the range over runs or random samples."""
    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(REJECTIONS), dtype=float)
    rows = {name: cuts.where(decorrelation=name) for name in METHODS}
    bound = np.hstack([of_method.grid("ideal", "rejection") for of_method in rows.values()])
    for i, (low, high) in enumerate(zip(bound.min(axis=1), bound.max(axis=1), strict=True)):
        axes.fill_between(
            [i - 0.4, i + 0.4],
            low,
            high,
            color="0.8",
            linewidth=0,
            label="random" if not i else None,
        )
    for i, (name, (label, colour)) in enumerate(METHODS.items()):
        values = rows[name].grid("inverse_jsd", "rejection")
        mean = values.mean(axis=1)
        axes.errorbar(
            place + 0.16 * (i - (len(METHODS) - 1) / 2),
            mean,
            [mean - values.min(axis=1), values.max(axis=1) - mean],
            fmt="o",
            color=colour,
            capsize=3,
            label=label,
        )
    axes.set_xticks(place, [f"{100 * rejection:g}" for rejection in REJECTIONS])
    axes.set(xlabel="background rejection [%]", ylabel="1/JSD", yscale="log")
    axes.set_xlim(-0.5, len(REJECTIONS) - 0.5)
    axes.tick_params(axis="x", which="minor", bottom=False, top=False)
    axes.legend()
    return figure


@styled
def cut_spectra(spectra: Arrays) -> Figure:
    """Draw the spectra that pass each cut, over the range of random selections of that size.

    Args:
        spectra: contents after each method, (cuts, bins), and after random selections, (cuts,
            draws, bins), as the task about cuts has left them.
    """
    figure = Figure(figsize=(5 * (len(REJECTIONS) // 2), 7), layout="constrained")
    panels = figure.subplots(2, len(REJECTIONS) // 2).ravel()
    for i, (axes, rejection) in enumerate(zip(panels, REJECTIONS, strict=True)):
        low, high = spectra["random"][i].min(axis=0), spectra["random"][i].max(axis=0)
        axes.stairs(high, MASS_BINS, baseline=low, fill=True, color="0.8", label="random")
        for name, (label, colour) in METHODS.items():
            content = spectra[f"spectra {name}"][i]
            axes.stairs(content, MASS_BINS, color=colour, linewidth=1.1, label=label)
        axes.set(yscale="log", xlabel="mass [GeV]", ylabel="background jets")
        # An empty bin has no place on a log axis.
        axes.set(xlim=(MASS_BINS[0], MASS_BINS[-1]), ylim=(0.5, 3 * high.max()))
        axes.set_title(f"{100 * rejection:g}% rejected", fontsize="medium")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure
