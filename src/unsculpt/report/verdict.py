"""Is what passes a cut independent of the attributes? At several cuts, with errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.decorrelators.crossfit import FOLD
from unsculpt.inputs import Floats, Mask
from unsculpt.metrics import Flatness, Ideal, TooFewEventsError
from unsculpt.metrics.independence import FlatnessTest
from unsculpt.metrics.separation import highest_cuts
from unsculpt.report.events import Events

KEPT = (0.5, 0.1, 0.05, 0.01, 0.001)  # of the background

CELLS = 50  # of the attributes


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
    raw: Flatness | None
    flat: Flatness | None


def points(events: Events, test: Callable[[Mask], Flatness | None]) -> list[Point]:
    """Return the working points that keep round fractions of the background, tested."""
    background = events.labels == 0
    weight = np.ones(len(events.labels)) if events.weight is None else events.weight

    def cuts_of(score: Floats, kept: ArrayLike) -> Floats:
        fractions = np.clip(kept, 1e-9, 1 - 1e-9)
        return highest_cuts(score[background], weight[background], fractions)

    cuts = [cuts_of(score, KEPT) for score in events.scores.values()]
    found = []
    for kept, *both in zip(KEPT, *cuts, strict=True):
        passing = [s >= cut for s, cut in zip(events.scores.values(), both, strict=True)]
        signal = _fraction(passing[1][~background], weight[~background])
        share = _fraction(passing[1][background], weight[background])
        # Where the cut would be if as many more, or fewer, events passed as chance explains.
        ends = cuts_of(
            list(events.scores.values())[1], share.mean + np.array([1, -1]) * share.spread
        )
        spread = float(np.diff(ends)[0] / 2)
        rejection = Ideal(1 / share.mean, share.spread / share.mean**2)
        tests = [test(mask) for mask in passing]
        found.append(Point(kept, Ideal(float(both[1]), spread), signal, rejection, *tests))
    return found


def flatness_tests(events: Events) -> Callable[[Mask], Flatness | None]:
    """Return a test of what passes on background; None with too few events to tell."""
    background = events.labels == 0
    attributes = {
        axis.name: np.array(axis.categories)[axis.values.astype(int)]
        if axis.categories
        else axis.values
        for axis in events.axes
    }
    cells = CELLS
    if events.fold is not None:
        # What is too high in one fold is too low in the models of the others: together they look
        # better than they are.
        attributes = {FOLD: events.fold} | attributes
        cells *= len(np.unique(events.fold))
    test = FlatnessTest(
        {name: values[background] for name, values in attributes.items()},
        None if events.weight is None else events.weight[background],
    )

    def flatness(passing: Mask) -> Flatness | None:
        try:
            return test(passing[background], cells)
        except TooFewEventsError:
            return None

    return flatness


def _fraction(passing: Mask, weight: Floats) -> Ideal:
    """Return the share of the weights that passes, with its error."""
    total = weight.sum()
    share = weight[passing].sum() / total
    return Ideal(float(share), float(np.sqrt((weight**2 * (passing - share) ** 2).sum()) / total))
