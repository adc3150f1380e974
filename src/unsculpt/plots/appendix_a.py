"""Appendix A of the paper: decorrelation that does not know what for can cost separation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt import metrics
from unsculpt.plots.style import FLAT, RAW, styled

CLASSES = ((0, "background", FLAT), (1, "signal", RAW))


@styled
def appendix_a_dataset(x: ArrayLike, protected: ArrayLike, labels: ArrayLike) -> Figure:
    """Draw the feature of both classes at each of two values of the protected attribute.

    Args:
        x: the feature, (n,).
        protected: 0 or 1.
        labels: 1 for signal, 0 for background.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    x, m, labels = (np.asarray(column) for column in (x, protected, labels))
    for value, axes in enumerate(figure.subplots(1, 2)):
        _classes(axes, x[m == value], labels[m == value])
        axes.set_title(f"m = {value}")
    return figure


@styled
def appendix_a_representations(
    representations: Mapping[str, tuple[ArrayLike, ArrayLike]], labels: ArrayLike
) -> Figure:
    """Draw decorrelated features and their likelihood ratios, with what these separate.

    Args:
        representations: the new feature and the log of its likelihood ratio, by name.
        labels: 1 for signal, 0 for background.
    """
    labels = np.asarray(labels)
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    for row, (name, (feature, ratio)) in zip(
        figure.subplots(len(representations), 2), representations.items(), strict=True
    ):
        _classes(row[0], np.asarray(feature), labels)
        row[0].set_title(name)
        _classes(row[1], np.clip(ratio, -10, None), labels)
        row[1].set(xlabel="log likelihood ratio", yscale="log")
        row[1].set_title(f"{name}, AUC {metrics.auc(ratio, labels):.3f}")
    return figure


def _classes(axes: Axes, x: np.ndarray, labels: np.ndarray) -> None:
    edges = np.histogram_bin_edges(x, 80)
    for label, name, colour in CLASSES:
        density, _ = np.histogram(x[labels == label], edges, density=True)
        axes.stairs(density, edges, color=colour, fill=True, alpha=0.5, label=name)
    axes.set(xlabel="x", ylabel="density")
    axes.legend()
