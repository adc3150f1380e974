"""Draws the figures of docs/jets.md into docs/images and prints where the masses are.

python docs/figures/jets.py
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unsculpt.datasets import Jets, load_jets
from unsculpt.metrics import signal_window

IMAGES = Path(__file__).parents[1] / "images"
QCD, W, TOP = range(3)
# The palette of Okabe and Ito, as in unsculpt.plots.
STYLE = {
    QCD: {"label": "QCD", "color": "#666666", "alpha": 0.3, "fill": True},
    W: {"label": "W", "color": "#D55E00", "linewidth": 1.3},
    TOP: {"label": "top", "color": "#0072B2", "linewidth": 1.3},
}
TITLES = {
    "pt": "$p_T$ [GeV]", "tau21": r"$\tau_{21}$", "c2": "$C_2$", "d2": "$D_2$",
    "fw": "Fox-Wolfram $H_2/H_0$", "pf": "planar flow", "ap": "aplanarity", "zcutdef": "$Z_{cut}$",
    "ktdr": r"$\Delta R$ of the kt subjets", "sqrtd12": r"$\sqrt{d_{12}}$ [GeV]",
}  # fmt: skip


def spectra(axes: Axes, values: np.ndarray, label: np.ndarray, classes: tuple, bins: np.ndarray):
    """Draw the normalised spectrum of every class."""
    for code in classes:
        content, _ = np.histogram(values[label == code], bins, density=True)
        axes.stairs(content, bins, **STYLE[code])
    axes.margins(x=0)


def variables(jets: Jets) -> Figure:
    """All ten inputs, for QCD and W."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    panels = figure.subplots(2, 5)
    for axes, name, values in zip(panels.flat, jets.names, jets.features.T, strict=True):
        low, high = np.quantile(values[jets.label != TOP], (0.001, 0.999))
        spectra(axes, values, jets.label, (QCD, W), np.linspace(low, high, 51))
        axes.set(xlabel=TITLES[name], yticks=[], ylim=(0, None))
    for axes in panels[:, 0]:
        axes.set_ylabel("density of jets")
    panels[0, 0].legend(frameon=False, loc="lower left")
    return figure


def masses(jets: Jets) -> Figure:
    """Draw the mass of every class; the logarithmic axis shows how QCD falls."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    linear, logarithmic = figure.subplots(1, 2)
    spectra(linear, jets.mass, jets.label, (QCD, W, TOP), np.linspace(50, 300, 126))
    spectra(logarithmic, jets.mass, jets.label, (QCD,), np.linspace(50, 300, 51))
    logarithmic.set(yscale="log")
    for axes in (linear, logarithmic):
        axes.set(xlabel="jet mass [GeV]", ylabel="density of jets [1/GeV]", xlim=(50, 300))
        axes.legend(frameon=False)
    return figure


def with_mass(jets: Jets) -> Figure:
    """How D2 and tau21 of QCD jets move with the mass."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    edges = np.arange(50, 231, 10)
    bins = np.digitize(jets.mass, edges)
    colour = "#0072B2"
    for axes, name in zip(figure.subplots(1, 2), ("d2", "tau21"), strict=True):
        values = jets.features[:, jets.names.index(name)]
        low, median, high = np.transpose(
            [
                np.quantile(values[(jets.label == QCD) & (bins == i)], (0.25, 0.5, 0.75))
                for i in range(1, len(edges))
            ]
        )
        centres = (edges[1:] + edges[:-1]) / 2
        axes.fill_between(centres, low, high, color=colour, alpha=0.25, label="middle half of QCD")
        axes.plot(centres, median, color=colour, label="median of QCD")
        at_peak = np.median(values[jets.label == W])
        axes.axhline(at_peak, color=STYLE[W]["color"], linestyle="--", label="median of W")
        axes.set(xlabel="jet mass [GeV]", ylabel=TITLES[name], xlim=(50, 230))
    axes.legend(frameon=False)
    return figure


def main() -> None:
    """Everything the page shows."""
    jets = load_jets("test", top=True)
    figures = {"variables": variables, "mass": masses, "with-mass": with_mass}
    for name, draw in figures.items():
        draw(jets).savefig(IMAGES / f"jets-{name}.png", dpi=120)
    for code in (W, TOP):
        low, high = signal_window(jets.mass[jets.label == code])
        print(f"80% of {STYLE[code]['label']} lies in {low:.0f} to {high:.0f} GeV")


if __name__ == "__main__":
    main()
