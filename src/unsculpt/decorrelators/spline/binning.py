"""The thresholds at which a spline cuts a score, and how many its events can hold."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.spline.axes import axes_of, terms_of
from unsculpt.decorrelators.spline.distribution import MEMBERS, score_functions
from unsculpt.inputs import Floats

MOST_COEFFICIENTS = 1536


def levels_of(coordinate: EmpiricalCDF, count: int) -> Floats:
    """Return levels at which to cut a score, crowded towards the tails, never inside an atom.

    An atom stands at the middle of its jump: a cut within it becomes one before and one after.
    """
    first, last = logit(coordinate.levels[[0, -1]])
    levels = expit(np.linspace(first, last, count))
    _, start, end = coordinate.steps
    jump = np.clip(np.searchsorted(start, levels, side="right") - 1, 0, len(start) - 1)
    inside = levels < end[jump]
    levels = np.concatenate([levels[~inside], start[jump[inside]], end[jump[inside]]])
    # Where an atom ends the next may start, but for rounding.
    return np.unique(np.round(levels, 12))


class TooManyValuesError(ValueError):
    """The attributes have more columns or categories than a spline takes."""


def check_size(attributes: ProtectedAttributes) -> None:
    """Refuse what another decorrelator does better."""
    if len(attributes.attributes) > 2:
        raise TooManyValuesError(
            f"protected has {len(attributes.attributes)} columns; a SplineDecorrelator takes one "
            "or two: use a FlowDecorrelator"
        )
    axes = axes_of(attributes)
    functions = max(sum(term.size for term in terms_of(axes, how)) for _, how in MEMBERS)
    curves, kept = score_functions(axes)
    size = max(kept * functions, curves * sum(axis.bins for axis in axes if axis.categories))
    if size > MOST_COEFFICIENTS:
        raise TooManyValuesError(
            f"protected has too many categories for a SplineDecorrelator ({size:,} coefficients, "
            f"at most {MOST_COEFFICIENTS:,}): use a FlowDecorrelator"
        )
