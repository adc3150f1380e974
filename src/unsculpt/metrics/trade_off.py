"""Separation against sculpting, from one score to another on a straight line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.metrics._inputs import column
from unsculpt.metrics.working_point import WorkingPoint, working_point

AMOUNTS = np.linspace(0, 1, 11)


def trade_off(
    scores: ArrayLike,
    flat: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    amounts: ArrayLike = AMOUNTS,
    **options: Any,
) -> list[WorkingPoint]:
    """Return rejection and sculpting of scores that are so much of the way to flat ones.

    With `flat` of `model.move(scores, protected, to="barycentre")` a point is that of the scores of
    the same `amount`.

    Args:
        scores: As they came, higher for signal, shape (n,).
        flat: The same events, in the same units, at the end of the way.
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        amounts: From 0, the scores, to 1, the flat ones.
        **options: As for `working_point`.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> mass, label = rng.uniform(size=20_000), np.arange(20_000) % 2
        >>> flat = rng.normal(label)
        >>> raw, *_, last = trade_off(flat + mass, flat, label, mass)
        >>> raw.inverse_jsd < last.inverse_jsd
        True
    """
    start = column(scores, "scores")
    end = column(flat, "flat", len(start))
    given = np.asarray(amounts, dtype=float)
    if not np.all((given >= 0) & (given <= 1)):
        raise ValueError(f"amounts is {given}; expected numbers from 0, the scores, to 1")
    return [
        working_point((1 - amount) * start + amount * end, labels, protected, **options)
        for amount in given.ravel()
    ]
