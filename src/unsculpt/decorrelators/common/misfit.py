"""Whether a fit follows its own events, and a warning if it does not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from unsculpt.decorrelators.common.outside import users_level
from unsculpt.devices import in_threads
from unsculpt.inputs import Columns, Floats
from unsculpt.metrics import TooFewEventsError, flatness_test

if TYPE_CHECKING:
    from unsculpt.decorrelators.base import ConditionalCDF

# A fit is held against its own events at these levels of the new score.
JUDGED_AT = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
NARROW, WIDE = 200, 50  # cells of the attributes
FEWEST_IN_SLICE = 25
TIES = 0.01  # of the events that share a score: fewer matter little
# On so many of them, of all scores together: a network takes two seconds for these.
JUDGED_EVENTS = 200_000
# If it is this far from them, it does not follow them.
NOT_BY_CHANCE = 1e-3
SPLINE, FLOW = "a SplineDecorrelator", "a FlowDecorrelator"  # each where the other fails


class MisfitWarning(UserWarning):
    """A fit does not follow its events."""


def warn_unless_followed(
    cdfs: Sequence[ConditionalCDF],
    columns: Floats,
    features: Floats,
    protected: Columns,
    weight: Floats,
    levels: Floats = JUDGED_AT,
) -> None:
    """Say so if cuts on the new scores of the events of a fit depend on the attributes.

    One cut in the middle in narrow cells of the attributes, and cuts at all levels in wide
    ones: of hard cuts few events are left.
    """
    some = slice(None, None, -(-columns.size // JUDGED_EVENTS))
    features, protected, weight = features[some], protected[some], weight[some]
    effective = weight.sum() ** 2 / (weight**2).sum()
    for i, (cdf, score) in enumerate(zip(cdfs, columns[some].T, strict=True)):
        flat = _without_atoms(cdf, score, features)
        if flat is None:
            continue
        passing = np.array([np.mean(flat >= level) for level in levels])
        enough = effective * np.minimum(passing, 1 - passing) >= 2 * FEWEST_IN_SLICE
        middle = levels[[np.abs(levels - 0.5).argmin()]]
        found = []
        for cuts, cells in ((middle, NARROW), (levels[enough], WIDE)):
            with suppress(TooFewEventsError):
                slices = np.digitize(flat, cuts)
                test = flatness_test(slices, protected, cells=cells, sample_weight=weight)
                found.append(test)
        if not found:
            continue
        worst = min(found, key=lambda test: test.p_value)
        p_value = min(len(found) * worst.p_value, 1.0)
        which = "the score" if columns.shape[1] == 1 else f"score {i}"
        # Splines take two attributes at most.
        other = SPLINE if len(protected) < 3 else None
        warn_if_far(worst.chi2, worst.degrees, p_value, which, worst.where, other)


def _without_atoms(cdf: ConditionalCDF, score: Floats, features: Floats) -> Floats | None:
    """Return the new score; events that share a score share what the map jumps by there.

    None if the map cannot tell the two ends of a jump.
    """
    if len(np.unique(score)) > (1 - TIES) * len(score):
        return in_threads(cdf.cdf, score, features)
    between = getattr(cdf, "at_jump", None)
    if between is None:
        return None
    low, high = (between(np.nextafter(score, end), features) for end in (-np.inf, np.inf))
    return np.asarray(low + np.random.default_rng(0).random(len(low)) * (high - low))


def warn_if_far(
    chi2: float, degrees: int, p_value: float, score: str, where: str, other: str | None
) -> None:
    """Say that a fit does not follow the events of a score, and what to try instead."""
    if p_value < NOT_BY_CHANCE:
        warnings.warn(
            f"the fit does not follow the events of {score}: chi2 {chi2:.0f} for {degrees}, "
            f"p = {p_value:.1g}, worst at {where}. A cut on the new score sculpts there: judge it "
            "on other events" + (f", and see whether {other} is better" if other else ""),
            MisfitWarning,
            stacklevel=users_level(),
        )
