"""The numbers of a report, with their errors and the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.metrics import Flatness, Ideal, Interval, WorkingPoint
from unsculpt.report.events import Events
from unsculpt.report.verdict import flatness
from unsculpt.report.words import bare


@dataclass(frozen=True)
class Numbers:
    """What one score does: each number by its name, and whether its cut is flat.

    `flatness` is None with too few events to tell.
    """

    score: str
    values: dict[str, Interval[float] | Ideal]
    flatness: Flatness | None = None

    def plain(self) -> dict[str, Any]:
        """Return them as JSON has them, where nothing is infinite."""
        return (
            {"score": self.score}
            | {
                name: {key: x if math.isfinite(x) else None for key, x in value._asdict().items()}
                for name, value in self.values.items()
            }
            | {"flatness": self.flatness and self.flatness._asdict()}
        )


def summary(events: Events, efficiency: float) -> list[Numbers]:
    """Return the numbers of both scores."""
    return [_numbers(events, name, efficiency) for name in events.scores]


def _numbers(events: Events, name: str, efficiency: float) -> Numbers:
    score, percent = events.scores[name], f"{100 * efficiency:g}"
    coarse = events.axes[0].with_bins(20).edges

    def points(
        score: Floats, labels: Floats, *columns: Floats, repeats: int, **weight: Floats | None
    ) -> list[WorkingPoint]:
        cut: dict[str, Any] = {"efficiency": efficiency, "repeats": repeats, **weight}
        return [
            metrics.working_point(score, labels, column, bins=axis.edges, **cut)
            for axis, column in zip(events.axes, columns, strict=True)
        ]

    def measure(score: Floats, labels: Floats, *columns: Floats, **weight: Floats) -> Floats:
        first, *others = points(score, labels, *columns, repeats=0, **weight)
        return np.array(
            [
                first.rejection,
                metrics.auc(score, labels, **weight),
                metrics.expected_auc(score, labels, columns[0], bins=coarse, **weight),
                *(point.inverse_jsd for point in (first, *others)),
            ]
        )

    # More events need fewer resamples for the same patience, and their errors matter less.
    repeats = int(np.clip(8e6 / len(score), 20, 100))
    order = np.argsort(score)  # what is sorted already is sorted fast in every resample
    columns = (score, events.labels, *(axis.values for axis in events.axes))
    arrays = tuple(column[order] for column in columns)
    weight = None if events.weight is None else events.weight[order]
    measured = metrics.bootstrap(measure, *arrays, sample_weight=weight, repeats=repeats)
    rejection, area, fixed, *inverse = (
        Interval(*map(float, ends)) for ends in zip(*measured, strict=True)
    )
    values: dict[str, Interval[float] | Ideal] = {}
    if events.has_signal:
        values[f"R{percent}"] = rejection
    beside = points(*columns, repeats=repeats, sample_weight=events.weight)
    for axis, interval, point in zip(events.axes, inverse, beside, strict=True):
        of = f" of {axis.name}" if len(events.axes) > 1 else ""
        values[f"1/JSD{percent}{of}"] = interval
        values[f"ideal 1/JSD{percent}{of}"] = point.ideal
    if events.has_signal:
        values |= {"AUC": area, f"AUC at fixed {bare(events.axes[0].name)}": fixed}
    cut = metrics.threshold(
        score, events.labels, efficiency=efficiency, sample_weight=events.weight
    )
    return Numbers(name, values, flatness(events, score >= cut))
