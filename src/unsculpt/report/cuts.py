"""Tests whether what passes a cut is independent of the attributes, at several cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.decorrelators.common.judgement import CutTest, Judgement
from unsculpt.inputs import Floats, Mask
from unsculpt.metrics import Ideal, TooFewEventsError
from unsculpt.metrics.separation import highest_cuts
from unsculpt.plots.in_bins import binomial_error
from unsculpt.report.events import Events, rows

KEPT = (0.5, 0.1, 0.05, 0.01, 0.001)  # of the background


@dataclass(frozen=True)
class Point:
    """A cut on the decorrelated score.

    Attributes:
        kept: the fraction of the background that passes.
        cut: on the decorrelated score, with the error that the share of the events above it has.
        signal, rejection: the fraction of the signal that passes, and one over `kept`, with errors.
        raw, flat: the test of a cut that keeps as much on the raw score and of this one; None with
            too few events to tell.
    """

    kept: float
    cut: Ideal
    signal: Ideal
    rejection: Ideal
    raw: Judgement | None
    flat: Judgement | None


def points(events: Events, test: CutTests) -> dict[str, list[Point]]:
    """Return for each new score the cuts that keep round fractions of the background, tested."""
    background = events.labels == 0
    weight = np.ones(len(events.labels)) if events.weight is None else events.weight

    def cuts_of(score: Floats, kept: ArrayLike) -> Floats:
        fractions = np.clip(kept, 1e-9, 1 - 1e-9)
        return highest_cuts(score[background], weight[background], fractions)

    def point(name: str, kept: float, cut: float, raw: Judgement | None) -> Point:
        score = events.scores[name]
        passing = score >= cut
        signal = fraction(passing[~background], weight[~background])
        share = fraction(passing[background], weight[background])
        # Where the cut would be if as many more, or fewer, events passed as chance explains.
        ends = cuts_of(score, share.mean + np.array([1, -1]) * share.spread)
        spread = float(np.diff(ends)[0] / 2)
        rejection = Ideal(1 / share.mean, share.spread / share.mean**2)
        return Point(kept, Ideal(float(cut), spread), signal, rejection, raw, test(name, cut))

    cuts = {name: cuts_of(score, KEPT) for name, score in events.scores.items()}
    first, *new = events.scores
    raw = [test(first, cut) for cut in cuts[first]]
    return {
        name: [point(name, *given) for given in zip(KEPT, cuts[name], raw, strict=True)]
        for name in new
    }


class CutTests:
    """Tests cuts on the scores of events."""

    def __init__(self, events: Events) -> None:
        self.events, self.background = events, np.flatnonzero(events.labels == 0)
        attributes = {
            axis.name: (
                np.array(axis.categories)[axis.values.astype(int)]
                if axis.categories
                else axis.values
            )[self.background]
            for axis in events.axes
        }
        weight, fold = (
            None if column is None else column[self.background]
            for column in (events.weight, events.fold)
        )
        self.test = CutTest(attributes, rows(events.protected, self.background), weight, fold)

    def __call__(self, name: str, cut: float) -> Judgement | None:
        """Test a cut on one of the scores; None with too few events to tell."""
        passing = self.events.scores[name][self.background] >= cut
        model = self.events.models.get(name)
        try:
            return self.test(passing, model, cut)
        except TooFewEventsError:
            return None


def fraction(passing: Mask, weight: Floats) -> Ideal:
    """Return the share of the weights that passes, with its error."""
    total, squares = weight.sum(), weight**2
    share = weight[passing].sum() / total
    spread = np.sqrt((squares * (passing - share) ** 2).sum()) / total
    if passing.all() or not passing.any():
        spread = binomial_error(share, total**2 / squares.sum())
    return Ideal(float(share), float(spread))
