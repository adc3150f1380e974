"""What a search for a bump finds in spectra."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from unsculpt.metrics import Scan
from unsculpt.plots.style import ALL, COLOURS, styled

LEAST = 4.0  # errors that the axis reaches to


@styled
def bumps(scans: Mapping[str, Scan], *, name: str = "mass [GeV]") -> Figure:
    """Draw the pulls of windows that slide over spectra of background.

    Args:
        scans: what `metrics.scan_for_bumps` returns, by the names in the legend: first that of all
            background; the last sets the scale.
        name: name of the attribute, on the axis.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> from unsculpt.metrics import scan_for_bumps
    >>> spectrum = np.histogram(toy.protected[toy.background], 40)
    >>> figure = bumps({"all": scan_for_bumps(*spectrum, width=4)})
    """
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.axhspan(-2, 2, color=ALL, alpha=0.12, linewidth=0, label="two errors")
    axes.axhline(0, color=ALL, linewidth=0.8)
    for (label, scan), colour in zip(scans.items(), (ALL, *COLOURS), strict=False):
        axes.plot((scan.low + scan.high) / 2, scan.pulls, ".-", color=colour, label=label)
    *_, last = scans.values()
    reach = max(LEAST, 1.3 * float(np.abs(last.pulls).max()))
    axes.set(xlim=(last.low[0], last.high[-1]), ylim=(-reach, reach))
    axes.set(xlabel=f"{name}, middle of the window", ylabel="spurious signal in errors")
    figure.legend(loc="outside upper center", ncols=4)
    return figure
