"""What a tagger is worth to a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.style import styled


class Hunt(NamedTuple):
    """One tagger: significances at each signal efficiency."""

    colour: str
    efficiency: ArrayLike
    spurious: ArrayLike
    expected: ArrayLike
    claimed: ArrayLike


@styled
def search(hunts: Mapping[str, Hunt]) -> Figure:
    """Draw fake and real significances against the signal efficiency of the cut.

    Args:
        hunts: the taggers by name.
    """
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    titles = (
        "found without signal, fit to sidebands",
        "found with signal, less that without",
        "claimed without signal, pyBumpHunter",
    )
    for label, hunt in hunts.items():
        gain = np.subtract(hunt.expected, hunt.spurious)
        for axes, values in zip(panels, (hunt.spurious, gain, hunt.claimed), strict=True):
            axes.plot(hunt.efficiency, values, "o-", color=hunt.colour, label=label)
    for axes, title in zip(panels, titles, strict=True):
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set(xlabel="signal efficiency", ylabel="significance")
        axes.set_title(title)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure
