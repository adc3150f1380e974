"""Appendix A of the paper: decorrelation that does not know what for can cost separation."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unsculpt import metrics
from unsculpt.datasets import toys
from unsculpt.datasets.toys import Toy
from unsculpt.inputs import Floats
from unsculpt.plots.style import FLAT, RAW, styled

CLASSES = ((0, "background", FLAT), (1, "signal", RAW))
MAPS = {"$f_1$: shifted": False, "$f_2$: shifted and mirrored": True}


@styled
def appendix_a_dataset(toy: Toy) -> Figure:
    """Draw the feature of both classes at each of the two values of the protected attribute."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for value, axes in enumerate(figure.subplots(1, 2)):
        here = toy.protected == value
        _classes(axes, toy.score[here], toy.label[here])
        axes.set_title(f"m = {value}")
    return figure


@styled
def appendix_a_representations(toy: Toy) -> Figure:
    """Draw two decorrelated features, of which one mixes the classes, and what they separate."""
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    for row, (name, mirrored) in zip(figure.subplots(2, 2), MAPS.items(), strict=True):
        feature, ratio = toys.appendix_a_decorrelated(toy, mirrored=mirrored)
        _classes(row[0], feature, toy.label)
        row[0].set_title(name)
        _classes(row[1], np.clip(ratio, -10, None), toy.label)
        row[1].set(xlabel="log likelihood ratio", yscale="log")
        row[1].set_title(f"{name}, AUC {metrics.auc(ratio, toy.label):.3f}")
    return figure


def _classes(axes: Axes, x: Floats, labels: NDArray[np.int64]) -> None:
    edges = np.histogram_bin_edges(x, 80)
    for label, name, colour in CLASSES:
        density, _ = np.histogram(x[labels == label], edges, density=True)
        axes.stairs(density, edges, color=colour, fill=True, alpha=0.5, label=name)
    axes.set(xlabel="x", ylabel="density")
    axes.legend()
