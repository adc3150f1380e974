"""The numbers by which decorrelated scores are compared, at one cut."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import whole_number
from unsculpt.metrics._inputs import Window
from unsculpt.metrics.limits import Ideal, ideal_inverse_jsd
from unsculpt.metrics.sculpting import inverse_jsd
from unsculpt.metrics.separation import rejection


class WorkingPoint(NamedTuple):
    """A cut: what it rejects, how little it sculpts, and what random selections reach."""

    rejection: float
    inverse_jsd: float
    ideal: Ideal


def working_point(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    efficiency: float = 0.5,
    bins: int | ArrayLike = 50,
    window: Window | None = None,
    sample_weight: ArrayLike | None = None,
    repeats: int = 100,
) -> WorkingPoint:
    """Return `rejection`, `inverse_jsd` and `ideal_inverse_jsd` at one signal efficiency.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        bins: As for `jsd`.
        window: As for `jsd`; the rejection, too, is that of the background inside.
        sample_weight: Event weights, negative ones included.
        repeats: Number of random selections for the ideal; 0 for none.

    Returns:
        The three numbers. The ideal is NaN without random selections, and with fewer than six
        bins, where an inverse divergence has no mean or no spread.

    Examples:
        >>> scores, labels = [0.2, 0.8, 0.2, 0.8, 0.8], [0, 0, 0, 0, 1]
        >>> point = working_point(scores, labels, [60, 60, 90, 90, 80], bins=2)
        >>> point.rejection, point.inverse_jsd, point.ideal
        (2.0, inf, Ideal(mean=nan, spread=nan))
    """
    events = scores, labels, protected
    cut: dict[str, Any] = {
        "efficiency": efficiency,
        "window": window,
        "sample_weight": sample_weight,
    }
    n_bins = bins if isinstance(bins, int | np.integer) else np.size(bins) - 1
    ideal = Ideal(math.nan, math.nan)
    if whole_number(repeats, "repeats", least=0) and n_bins >= 6:
        ideal = ideal_inverse_jsd(*events, bins=bins, repeats=repeats, **cut)
    return WorkingPoint(
        rejection(scores, labels, protected=protected, **cut),
        inverse_jsd(*events, bins=bins, **cut),
        ideal,
    )
