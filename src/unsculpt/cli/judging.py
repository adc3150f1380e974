"""What a decorrelator does to events it has not seen, in numbers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from unsculpt import metrics
from unsculpt.decorrelators import Decorrelator
from unsculpt.decorrelators.common.judgement import CutTest, Judgement, only_cut
from unsculpt.files import Sample
from unsculpt.inputs import Floats

EFFICIENCY = 0.5


def judge(model: Decorrelator, sample: Sample, flat: Floats) -> list[dict[str, Any]]:
    """Return rejection and sculpting of each score before and after, beside the ideal.

    At half of the signal; where there is none, at half of the background itself. `flat` is
    `decorrelated` of the events. With folds, the mean over them: together they would look better
    than they are, as what is too high in one fold is too low in the models of the others.
    """
    signal = bool(sample.label.any())
    if sample.event is None:
        return _judge(model, sample, flat, signal)
    folds = len(model.models_)
    rows = [sample.event % folds == k for k in range(folds)]
    each = [_judge(model, sample[here], flat[here], signal) for here in rows]
    return [_mean(of_folds) for of_folds in zip(*each, strict=True)]


def _mean(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    numbers = ("inverse_jsd", "ideal", *["rejection"] * (rows[0]["rejection"] is not None))
    mean = {name: float(np.mean([row[name] for row in rows])) for name in numbers}
    spread = np.mean([row["ideal_spread"] for row in rows]) / len(rows) ** 0.5
    return rows[0] | mean | {"ideal_spread": float(spread)}


def _judge(model: Decorrelator, sample: Sample, flat: Floats, signal: bool) -> list[dict[str, Any]]:
    scores = {"raw": sample.scores, "decorrelated": flat}
    label, weight, twice = sample.label, sample.weight, slice(None)
    if not signal:  # a copy of the background plays the signal
        twice = np.tile(np.arange(len(label)), 2)  # type: ignore[assignment]
        label = np.repeat([0, 1], len(label)).astype(np.int8)
        weight = weight if weight is None else weight[twice]
    found = []
    for i, score in enumerate(model.source_["score"] if model.source_ else []):
        for attribute, values in sample.protected.items():
            if values.dtype.kind not in "iuf":
                continue
            for state, columns in scores.items():
                column = columns.reshape(len(columns), -1)[twice, i]
                point = metrics.working_point(
                    column, label, values[twice], efficiency=EFFICIENCY, sample_weight=weight
                )
                found.append(
                    {
                        "score": score,
                        "protected": attribute,
                        "state": state,
                        "rejection": point.rejection if signal else None,
                        "inverse_jsd": point.inverse_jsd,
                        "ideal": point.ideal.mean,
                        "ideal_spread": point.ideal.spread,
                    }
                )
    return found


class Verdict(NamedTuple):
    """Whether one of the new scores is flat at the cut of `judge`, or at the only one it has."""

    score: str
    events: int
    test: Judgement | None
    why_not: str = ""
    cut: str = ""

    @property
    def line(self) -> str:
        """It in words."""
        if self.test is None:
            return f"No verdict on {self.score}: {self.why_not}."
        return f"{self.score}{self.cut} is {self.test.line(self.events)}."

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        found = {} if self.test is None else self.test.plain()
        return {"score": self.score, "events": self.events, "p_value": None, **found}


def verdicts(model: Decorrelator, sample: Sample, flat: Floats) -> list[Verdict]:
    """Test that the cut of `judge` keeps the same share of background at all attributes.

    The error of the map counts where the model knows it, of one score.
    """
    fold = None if sample.event is None else sample.event % len(model.models_)
    flat = flat.reshape(len(flat), -1)
    background, weight = sample.label == 0, sample.weight
    of_cut = ~background if sample.label.any() else background
    protected = sample.protected[background]
    test = CutTest(
        protected,
        protected,
        *(None if column is None else column[background] for column in (weight, fold)),
    )
    events, inside = int(background.sum()), _everywhere(model)
    own = only_cut(model)
    found = []
    for name, column in zip(model.source_["score"], flat.T, strict=True):  # type: ignore[index]
        half = _half(column[of_cut], None if weight is None else weight[of_cut])
        cut = half if own is None else own
        try:
            tested = test(column[background] >= cut, inside, cut)
            at = "" if own is None else f" cut at {own:g}"
            found.append(Verdict(name, events, tested, cut=at))
        except metrics.TooFewEventsError as error:
            found.append(Verdict(name, events, None, str(error)))
    return found


def _half(scores: Floats, weight: Floats | None) -> float:
    """Return the cut that keeps half of the events."""
    every = np.ones(len(scores))
    return metrics.threshold(scores, every, efficiency=EFFICIENCY, sample_weight=weight)


def decorrelated(model: Decorrelator, sample: Sample) -> Floats:
    """Return the new scores of events, those beyond the fitted range included."""
    more = {} if sample.event is None else {"event": sample.event}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _everywhere(model).transform(sample.scores, sample.protected, **more)


def _everywhere(model: Decorrelator) -> Decorrelator:
    """Return the model for all events: what is held out may lie a little beyond the fit."""
    clipping = copy.copy(model)
    clipping.outside = "clip"
    return clipping


def table(judged: list[dict[str, Any]]) -> Table:
    """Return the numbers as a table for the terminal."""
    signal = judged[0]["rejection"] is not None
    cut = f"{EFFICIENCY:.0%}".rstrip("%")
    drawn = Table(
        "score", "protected", "", *[f"R{cut}"] * signal, f"1/JSD{cut}", f"ideal 1/JSD{cut}"
    )
    for column in drawn.columns[3:]:
        column.justify = "right"
    before = None
    for row in judged:
        subject = row["score"], row["protected"]
        drawn.add_row(
            *(subject if subject != before else ("", "")),
            row["state"],
            *([f"{row['rejection']:.1f}"] if signal else []),
            f"{row['inverse_jsd']:,.1f}",
            f"{row['ideal']:,.0f} ± {row['ideal_spread']:,.0f}",
        )
        before = subject
    return drawn
