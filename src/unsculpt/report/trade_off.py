"""The section on what lies between the raw score and a flat one."""

from __future__ import annotations

import numpy as np

from unsculpt import metrics, plots
from unsculpt.decorrelators import ScoreDecorrelator
from unsculpt.report.events import Events
from unsculpt.report.map_error import quietly
from unsculpt.report.picture import Picture, Table
from unsculpt.report.words import bare, number, with_error

AMOUNTS = np.linspace(0, 1, 6)
REPEATS = 10  # of the ideal, at each amount: shuffling weighted events takes time


def trade_off(events: Events, efficiency: float) -> Picture | None:
    """Move the score to the barycentre; None without signal, or if the model does not move."""
    model = events.model
    movable = isinstance(model, ScoreDecorrelator) and getattr(model, "continuous", True)
    if not (events.has_signal and movable and model.background_ is not None):
        return None
    raw, axis = events.scores["raw score"], events.axes[0]
    with quietly():
        flat = model.move(raw, events.protected, to="barycentre")
    points = metrics.trade_off(
        raw,
        flat,
        events.labels,
        axis.values,
        amounts=AMOUNTS,
        efficiency=efficiency,
        bins=axis.edges,
        sample_weight=events.weight,
        repeats=REPEATS,
    )
    percent = f"{100 * efficiency:g}"
    header = ["amount", f"R{percent}", f"1/JSD{percent}", f"ideal 1/JSD{percent}"]
    return Picture(
        "trade-off",
        "Separation against sculpting",
        f"Between the raw score (open) and one that is flat in {bare(axis.name)} (filled) lies a "
        "straight line; unsculpt apply --to barycentre goes as far along it as --amount says. "
        f"Drawn are rejection and 1/JSD of cuts that keep {efficiency:.0%} of the signal, in steps "
        "of a fifth; dashed is what random selections reach.",
        plots.trade_off({events.main: points}, efficiency=efficiency),
        [
            Table(
                header,
                [
                    [
                        f"{amount:g}",
                        number(point.rejection),
                        number(point.inverse_jsd),
                        " ".join(with_error(point.ideal)).strip(),
                    ]
                    for amount, point in zip(AMOUNTS, points, strict=True)
                ],
            )
        ],
    )
