"""How close to ideal, against the strength and against the number of events of the fit."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unsculpt.plots.style import styled
from unsculpt.study.figures.tradeoff import COLOURS
from unsculpt.study.results import RECIPES, Results, family

LINES = {"paper flow": ":", "ours": "-"}


@styled
def ratio_to_ideal(results: Results) -> Figure:
    """Draw the ratio of 1/JSD to that of random selections, with the range over seeds."""
    figure = Figure(figsize=(10.2, 4.6), layout="constrained")
    strength, size = figure.subplots(1, 2, sharey=True)
    for axes in (strength, size):
        axes.axhline(1, color="black", linestyle="--", linewidth=1)
    for name in ("DisCo", "MoDe"):
        for recipe in LINES:
            _draw(strength, family(results, name, recipe), "alpha", name, recipe)
    for recipe in LINES:
        sizes = results.where(step="sizes", decorrelation=recipe).rows
        rows = Results(sizes + family(results, "vDNN", recipe).rows)
        _draw(size, rows, "events", "vDNN", recipe)
    strength.set(xlabel=r"strength $\alpha$", ylabel="1/JSD$_{50}$, ratio to ideal")
    size.set(xlabel="background jets to fit on", xscale="log")
    for axes in (strength, size):
        axes.legend(fontsize="small")
    return figure


def _draw(axes: Axes, rows: Results, along: str, name: str, recipe: str) -> None:
    x, ratio, colour = rows.values(along), rows.ratio(along), COLOURS[name]
    axes.plot(
        x,
        ratio.mean(axis=1),
        LINES[recipe],
        color=colour,
        marker="o",
        ms=4,
        label=f"{name}, {RECIPES[recipe]}",
    )
    axes.fill_between(
        x, ratio.min(axis=1), ratio.max(axis=1), color=colour, alpha=0.12, linewidth=0
    )
