"""Cuts at one efficiency or at several."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.decorrelators.common.outside import OutsideWarning
from unsculpt.inputs import Floats, numbers


def at_each(cut: Callable[[float], Floats], efficiency: ArrayLike) -> Floats:
    """Return a cut at one efficiency; at several of them, those cuts along a new last axis."""
    if np.ndim(efficiency) == 0:
        return cut(efficiency)  # type: ignore[arg-type]
    shares = numbers(efficiency, "efficiency")
    if shares.ndim != 1 or not len(shares):
        raise ValueError(
            f"efficiency has shape {shares.shape}; expected a number, or a list of them"
        )
    first, *others = shares.tolist()
    cuts = [cut(first)]
    with warnings.catch_warnings():  # the first has counted what is outside
        warnings.simplefilter("ignore", OutsideWarning)
        cuts += [cut(share) for share in others]
    return np.stack(cuts, axis=-1)
