"""The score cut that a decorrelator makes of a working point."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.style import COLOURS, styled


@styled
def cut(
    cuts: Mapping[str, ArrayLike],
    protected: ArrayLike,
    *,
    name: str = "mass [GeV]",
    score: str = "score",
) -> Figure:
    """Draw cuts on a score against the protected attribute.

    Args:
        cuts: the cut at each value of the attribute, (n,), by what the legend calls it.
        protected: values of the attribute in rising order, or categories, (n,).
        name: name of the protected attribute, on the axis.
        score: what is cut on.

    >>> masses = np.linspace(50, 200, 20)
    >>> figure = cut({"keeps 10%": 0.5 + masses / 1000}, masses)
    """
    values = np.asarray(protected)
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    categories = values.dtype.kind in "OSU"
    for (label, height), colour in zip(cuts.items(), COLOURS, strict=False):
        axes.plot(values, height, "o" if categories else "-", color=colour, label=label)
    axes.set(xlabel=name, ylabel=f"cut on {score}")
    axes.margins(x=0.2 if categories else 0, y=0.1)
    axes.legend(title="background efficiency", ncols=2)
    return figure
