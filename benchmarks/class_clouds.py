"""The clouds of three classes in the plane of their log-ratios, at several masses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType
from numpy.typing import ArrayLike

from unsculpt.decorrelators.transport.coordinates import log_ratios
from unsculpt.inputs import Floats
from unsculpt.plots.style import styled

LINES: tuple[LineStyleType, ...] = ("-", "--", ":")


@styled
def class_clouds(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike,
    slices: Sequence[tuple[float, float]],
    *,
    classes: Sequence[str] = ("background", "signal 1", "signal 2"),
    name: str = "mass [GeV]",
) -> Figure:
    """Draw each class as the ellipse of its mean and covariance, in slices of the attribute.

    A decorrelation brings the ellipses of the background together. One that keeps the order
    brings those of the signals together too, as far as they were a shift and a stretch apart.

    Args:
        scores: probabilities of the three classes by what the figure calls them, (n, 3) each.
        labels: 0 for background, 1 and 2 for the signals.
        protected: the protected attribute, (n,).
        slices: (low, high) of it.
        classes: what the legend calls the classes.
        name: of the protected attribute, in the legend.
    """
    label, attribute = np.asarray(labels), np.asarray(protected, float)
    figure = Figure(figsize=(1.6 + 2.7 * len(scores), 3.6), layout="constrained")
    panels = figure.subplots(1, len(scores), squeeze=False, sharex=True, sharey=True)[0]
    colours = colormaps["viridis"](np.linspace(0, 0.75, len(slices)))
    for axes, (title, values) in zip(panels, scores.items(), strict=True):
        plane = log_ratios(np.asarray(values, float))
        for (low, high), colour in zip(slices, colours, strict=True):
            here = (attribute >= low) & (attribute < high)
            for k, line in enumerate(LINES):
                axes.plot(*_ellipse(plane[here & (label == k)]), color=colour, linestyle=line)
        axes.set(title=title, xlabel=r"$\ln(p_0/p_1)/\sqrt{2}$", aspect="equal")
    panels[0].set(ylabel=r"$\ln(p_0 p_1/p_2^2)/\sqrt{6}$")
    keys = [Line2D([], [], color="k", linestyle=line) for line in LINES]
    keys += [Line2D([], [], color=colour) for colour in colours]
    figure.legend(
        keys,
        [*classes, *(f"{low:g} to {high:g}" for low, high in slices)],
        title=name,
        loc="outside right center",
    )
    return figure


def _ellipse(points: Floats) -> Floats:
    """Return the curve, (2, n), one standard deviation around the mean."""
    angle = np.linspace(0, 2 * np.pi, 100)
    root = np.linalg.cholesky(np.cov(points.T))
    curve = points.mean(axis=0)[:, None] + root @ np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(curve)
