"""What a tagger is worth to a search for a bump."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unsculpt.plots.style import styled
from unsculpt.study.results import Results

TAGGERS = {
    "vDNN": "#D55E00",
    "DisCo": "#E69F00",
    "vDNN, ours": "#009E73",
    "DisCo, ours": "#0072B2",
    "random": "#666666",
}
TITLES = (
    "found without signal, fit to sidebands",
    "found with signal, less that without",
    "claimed without signal, pyBumpHunter",
)


@styled
def bump_search(hunts: Results) -> Figure:
    """Draw fake and real significances of each tagger against the signal efficiency of the cut."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for tagger, colour in TAGGERS.items():
        rows = hunts.where(tagger=tagger)
        efficiency = rows.values("efficiency")
        spurious, expected, claimed = (
            np.array([rows.where(efficiency=e).column(name)[0] for e in efficiency])
            for name in ("spurious", "expected", "claimed")
        )
        for axes, values in zip(panels, (spurious, expected - spurious, claimed), strict=True):
            axes.plot(efficiency, values, "o-", color=colour, label=tagger)
    for axes, title in zip(panels, TITLES, strict=True):
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set(xlabel="signal efficiency", ylabel="significance")
        axes.set_title(title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure
