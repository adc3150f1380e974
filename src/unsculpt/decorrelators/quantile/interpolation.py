"""A monotone spline through a few quantiles, other ones for every event.

Rational quadratic between the knots (Gregory and Delbourgo, IMA J. Numer. Anal. 2 (1982) 123),
which increases for any positive slopes and has an inverse in closed form; beyond them a straight
line of slope one. The slopes are those of PCHIP inside and one at the ends, where the lines begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats


class _Piece(NamedTuple):
    """The knots around each event: left corner, width, height, and the slopes at both ends."""

    x: Floats
    y: Floats
    width: Floats
    height: Floats
    left: Floats
    right: Floats


def spline(x: Floats, knots: Floats, heights: Floats) -> Floats:
    """Return the spline's height at each x.

    Args:
        x: (n,).
        knots: (n, q), increasing along q.
        heights: (q,), increasing: the spline's values at the knots.
    """
    if len(heights) > 1:
        piece = _piece((knots <= x[:, None]).sum(axis=1), knots, heights)
        secant = piece.height / piece.width
        t = np.clip((x - piece.x) / piece.width, 0, 1)
        bent = piece.left + piece.right - 2 * secant
        rise = (secant * t**2 + piece.left * t * (1 - t)) / (secant + bent * t * (1 - t))
        inside = piece.y + piece.height * rise
    else:
        inside = np.full(len(x), heights[0])
    return np.asarray(inside + np.minimum(x - knots[:, 0], 0) + np.maximum(x - knots[:, -1], 0))


def inverse_spline(y: Floats, knots: Floats, heights: Floats) -> Floats:
    """Return the x at which the spline reaches each y, (n,)."""
    if len(heights) > 1:
        piece = _piece(np.searchsorted(heights, y, side="right"), knots, heights)
        secant = piece.height / piece.width
        rise = np.clip((y - piece.y) / piece.height, 0, 1)
        bent = piece.left + piece.right - 2 * secant
        a = secant - piece.left + rise * bent
        b = piece.left - rise * bent
        # The root on [0, 1], in the form that does not cancel.
        t = 2 * secant * rise / (b + np.sqrt(b**2 + 4 * a * secant * rise))
        inside = piece.x + piece.width * t
    else:
        inside = knots[:, 0]
    return np.asarray(inside + np.minimum(y - heights[0], 0) + np.maximum(y - heights[-1], 0))


def _piece(below: NDArray[np.intp], knots: Floats, heights: Floats) -> _Piece:
    """Return the piece of each event, which has this many knots below it."""
    row = np.arange(len(knots))
    left = np.clip(below - 1, 0, len(heights) - 2)
    slopes = _slopes(knots, heights)
    return _Piece(
        knots[row, left],
        heights[left],
        knots[row, left + 1] - knots[row, left],
        heights[left + 1] - heights[left],
        slopes[row, left],
        slopes[row, left + 1],
    )


def _slopes(knots: Floats, heights: Floats) -> Floats:
    """Return the weighted harmonic means of PCHIP inside, one at the ends, (n, q)."""
    width = np.diff(knots)
    run = width / np.diff(heights)
    before, after = width[:, :-1], width[:, 1:]
    inside = (
        3
        * (before + after)
        / ((2 * after + before) * run[:, :-1] + (after + 2 * before) * run[:, 1:])
    )
    return np.pad(inside, ((0, 0), (1, 1)), constant_values=1.0)
