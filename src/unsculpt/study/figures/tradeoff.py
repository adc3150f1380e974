"""Sculpting against rejection: the central figure, from the table of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.plots.style import styled
from unsculpt.study.evaluation import MASS_BINS, WINDOW_BINS, Values
from unsculpt.study.results import Results, families, family

COLOURS = {
    "vDNN": "#000000",
    "DNN (cf-inputs)": "#CC79A7",
    "DisCo": "#0072B2",
    "MoDe": "#D55E00",
    "adversary": "#009E73",
    "published DisCo": "#56B4E9",
    "your score": "#0072B2",
}
LABELS = {"paper flow": "cf-{}", "ours": "{}, our splines"}
RANDOM = 200
TITLES = {
    "": ("$R_{50}$", "$1/\\mathrm{JSD}_{50}$"),
    "_window": ("$R_{50}^{70-100}$", "$1/\\mathrm{JSD}_{50}^{70-100}$"),
}


class Line(NamedTuple):
    """One family of taggers.

    Attributes:
        label: in the legend.
        colour: of line and band.
        filled: whether the circles are filled, as they are after a decorrelation.
        rejection: (strengths, seeds).
        inverse_jsd: (strengths, seeds).
    """

    label: str
    colour: str
    filled: bool
    rejection: ArrayLike
    inverse_jsd: ArrayLike


class IdealCurve(NamedTuple):
    """What random selections reach: mean and spread of 1/JSD at each rejection."""

    rejection: Floats
    mean: Floats
    spread: Floats


def tradeoff(
    results: Results, mass: Values, recipe: str, names: tuple[str, ...] | None = None
) -> Figure:
    """Draw the central figure: 1/JSD50 against R50, inclusive and around the W.

    Args:
        results: the table.
        mass: of the background, of which random selections are made.
        recipe: of the decorrelation.
        names: the families; all of the main grid if not given.
    """
    panels = []
    for end in TITLES:
        lines = []
        for name in names or families(results):
            for decorrelation in ("none", recipe):
                rows = family(results, name, decorrelation)
                label = name if decorrelation == "none" else LABELS[recipe].format(name)
                if rows:
                    lines.append(
                        Line(
                            label,
                            COLOURS[name],
                            decorrelation != "none",
                            rows.grid(f"r50{end}"),
                            rows.grid(f"inverse_jsd50{end}"),
                        )
                    )
        panels.append((lines, ideal_curve(mass, lines, window=bool(end))))
    return draw_tradeoff(panels)


def ideal_curve(mass: Values, lines: list[Line], *, window: bool) -> IdealCurve:
    """Select background at random at every rejection of the figure."""
    counts = np.histogram(mass, WINDOW_BINS if window else MASS_BINS)[0]
    highest = max(np.max(line.rejection) for line in lines)
    lowest = min(np.min(line.rejection) for line in lines)
    rejection = np.geomspace(max(1.2, lowest * 0.9), highest * 1.05, 40)
    random = np.random.default_rng(0)
    inverse = np.array([_inverse_of_random(counts, r, random) for r in rejection])
    return IdealCurve(rejection, inverse.mean(axis=1), inverse.std(axis=1))


def _inverse_of_random(
    counts: NDArray[np.int64], rejection: float, random: np.random.Generator
) -> list[float]:
    passing = round(counts.sum() / rejection)
    draws = random.multivariate_hypergeometric(counts, passing, size=RANDOM)
    return [1 / metrics.jensen_shannon(draw, counts - draw) for draw in draws]


@styled
def draw_tradeoff(panels: Sequence[tuple[Sequence[Line], IdealCurve]]) -> Figure:
    """Draw 1/JSD against rejection: a point for each strength, a band from lowest to highest seed.

    Args:
        panels: the lines and the ideal curve of each region.
    """
    figure = Figure(figsize=(1 + 5 * len(panels), 5), layout="constrained")
    plots = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (lines, ideal), (xlabel, ylabel) in zip(plots, panels, TITLES.values(), strict=True):
        _ideal(axes, ideal)
        for line in lines:
            _line(axes, line)
        axes.set(xlabel=xlabel, ylabel=ylabel, yscale="log")
    figure.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def _ideal(axes: Axes, ideal: IdealCurve) -> None:
    axes.plot(ideal.rejection, ideal.mean, color="black", linestyle="--", label="ideal")
    axes.fill_between(
        ideal.rejection,
        ideal.mean - ideal.spread,
        ideal.mean + ideal.spread,
        color="black",
        alpha=0.12,
        linewidth=0,
    )


def _line(axes: Axes, line: Line) -> None:
    rejection, inverse = (np.asarray(x, float) for x in (line.rejection, line.inverse_jsd))
    x, y = rejection.mean(axis=1), inverse.mean(axis=1)
    axes.plot(
        x,
        y,
        color=line.colour,
        marker="o",
        markersize=5,
        markerfacecolor=line.colour if line.filled else "white",
        linestyle="-" if line.filled else ":",
        linewidth=1,
        label=line.label,
    )
    low, high = inverse.min(axis=1), inverse.max(axis=1)
    if len(x) > 1:
        axes.fill_between(x, low, high, color=line.colour, alpha=0.2, linewidth=0)
    else:
        axes.errorbar(x, y, [y - low, high - y], color=line.colour, linewidth=1, capsize=3)
