"""Sculpting by harder and harder cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt.plots.style import styled


class Scan(NamedTuple):
    """One method: its colour and 1/JSD at each rejection in each run, (cuts, runs)."""

    colour: str
    inverse_jsd: ArrayLike


@styled
def cut_scan(rejections: Sequence[float], scans: Mapping[str, Scan], ideal: ArrayLike) -> Figure:
    """Draw 1/JSD at each background rejection, with the range over runs and the random bound.

    Args:
        rejections: fractions of the background that are rejected.
        scans: the methods by name.
        ideal: 1/JSD of random selections, (cuts, runs).
    """
    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(rejections), dtype=float)
    bound = np.asarray(ideal, float)
    for i, (low, high) in enumerate(zip(bound.min(axis=1), bound.max(axis=1), strict=True)):
        axes.fill_between(
            [i - 0.4, i + 0.4],
            low,
            high,
            color="0.8",
            linewidth=0,
            label="random" if not i else None,
        )
    for i, (label, scan) in enumerate(scans.items()):
        values = np.asarray(scan.inverse_jsd, float)
        mean = values.mean(axis=1)
        axes.errorbar(
            place + 0.16 * (i - (len(scans) - 1) / 2),
            mean,
            [mean - values.min(axis=1), values.max(axis=1) - mean],
            fmt="o",
            color=scan.colour,
            capsize=3,
            label=label,
        )
    axes.set_xticks(place, [f"{100 * rejection:g}" for rejection in rejections])
    axes.set(xlabel="background rejection [%]", ylabel="1/JSD", yscale="log")
    axes.set_xlim(-0.5, len(rejections) - 0.5)
    axes.tick_params(axis="x", which="minor", bottom=False, top=False)
    axes.legend()
    return figure
