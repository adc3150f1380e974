"""The losses of a training against the epoch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from unsculpt.plots.style import COLOURS, styled


@styled
def history(losses: Mapping[str, ArrayLike]) -> Figure:
    """Draw losses against the epoch: the mean of an ensemble in bold, its members faint.

    Args:
        losses: (epochs,), or (epochs, members), by what the legend calls them.

    >>> figure = history({"training": [[0.9, 0.8], [0.7, 0.6], [0.6, 0.6]]})
    """
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for (label, values), colour in zip(losses.items(), COLOURS, strict=False):
        loss = np.asarray(values, float)
        loss = loss.reshape(len(loss), -1)
        epochs = np.arange(1, len(loss) + 1)
        axes.plot(epochs, loss, color=colour, alpha=0.25, linewidth=0.8)
        axes.plot(epochs, loss.mean(axis=1), color=colour, label=label)
    axes.set(xlabel="epoch", ylabel="loss")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    return figure
