"""The central figure, from the table of results."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unsculpt import metrics
from unsculpt.plots import tradeoff as draw_tradeoff
from unsculpt.plots.tradeoff import IdealCurve, Line
from unsculpt.study.evaluation import MASS_BINS, WINDOW_BINS
from unsculpt.study.results import Results, families, family

Floats = NDArray[np.floating]

COLOURS = {
    "vDNN": "#000000",
    "DNN (cf-inputs)": "#CC79A7",
    "DisCo": "#0072B2",
    "MoDe": "#D55E00",
    "adversary": "#009E73",
    "published DisCo": "#56B4E9",
    "your score": "#0072B2",
}
RANDOM = 200


def tradeoff(
    results: Results, mass: Floats, recipe: str, names: tuple[str, ...] | None = None
) -> Figure:
    """The central figure: 1/JSD50 against R50, inclusive and around the W.

    Args:
        results: the table.
        mass: of the background, of which random selections are made.
        recipe: of the flow.
        names: the families; all of the main grid if not given.
    """
    panels = []
    for end in ("", "_window"):
        lines = []
        for name in names or families(results):
            for decorrelation in ("none", recipe):
                rows = family(results, name, decorrelation)
                label = name if decorrelation == "none" else f"cf-{name}"
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
    return draw_tradeoff(
        panels,
        titles=(
            ("$R_{50}$", "$1/\\mathrm{JSD}_{50}$"),
            ("$R_{50}^{70-100}$", "$1/\\mathrm{JSD}_{50}^{70-100}$"),
        ),
    )


def ideal_curve(mass: Floats, lines: list[Line], *, window: bool) -> IdealCurve:
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
