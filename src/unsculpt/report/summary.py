"""The numbers of a report, with their errors and the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unsculpt import metrics
from unsculpt.decorrelators.common.judgement import Judgement, only_cut
from unsculpt.inputs import Floats
from unsculpt.metrics import Ideal, Interval
from unsculpt.report.cuts import CutTests
from unsculpt.report.events import Events
from unsculpt.report.measure import Measure
from unsculpt.report.words import bare


@dataclass(frozen=True)
class Numbers:
    """What one score does: each number by its name, and whether its cut is flat.

    `flatness` is None with too few events to tell. `only_cut` is where it was tested, if the model
    is made for one cut.
    """

    score: str
    values: dict[str, Interval[float] | Ideal]
    flatness: Judgement | None = None
    only_cut: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return them as JSON has them, where nothing is infinite."""
        return (
            {"score": self.score}
            | {
                name: {key: x if math.isfinite(x) else None for key, x in value._asdict().items()}
                for name, value in self.values.items()
            }
            | {"flatness": self.flatness and self.flatness.plain()}
        )


def summary(events: Events, efficiency: float, test: CutTests) -> list[Numbers]:
    """Return the numbers of all scores, with the test of each cut."""
    found = []
    for name, score in events.scores.items():
        cut = metrics.threshold(
            score, events.labels, efficiency=efficiency, sample_weight=events.weight
        )
        own = only_cut(events.models[name]) if name in events.models else None
        values = _values(events, score, efficiency)
        found.append(Numbers(name, values, test(name, cut if own is None else own), own))
    return found


def _values(events: Events, score: Floats, efficiency: float) -> dict[str, Interval[float] | Ideal]:
    percent = f"{100 * efficiency:g}"
    # More events need fewer resamples for the same patience, and their errors matter less.
    repeats = int(np.clip(4e6 / len(score), 20, 100))
    ideal = [
        metrics.working_point(
            score,
            events.labels,
            axis.values,
            efficiency=efficiency,
            bins=axis.edges,
            sample_weight=events.weight,
            repeats=repeats,
        ).ideal
        for axis in events.axes
    ]
    measure = Measure(events, score, efficiency)
    measured = metrics.bootstrap(measure, np.arange(len(score)), repeats=repeats)
    rejection, area, fixed, *inverse = (
        Interval(*map(float, ends)) for ends in zip(*measured, strict=True)
    )
    values: dict[str, Interval[float] | Ideal] = {}
    if events.has_signal:
        values[f"R{percent}"] = rejection
    for axis, interval, limit in zip(events.axes, inverse, ideal, strict=True):
        of = f" of {axis.name}" if len(events.axes) > 1 else ""
        values[f"1/JSD{percent}{of}"] = interval
        values[f"ideal 1/JSD{percent}{of}"] = limit
    if events.has_signal:
        values |= {"AUC": area, f"AUC at fixed {bare(events.axes[0].name)}": fixed}
    return values
