"""The error of a map as independent shifts of it, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.common.variations import NEVER, principal
from unsculpt.decorrelators.spline.axes import Axis
from unsculpt.decorrelators.spline.errors import MapError
from unsculpt.inputs import Floats

# The grid on which directions are compared: nodes along an attribute and levels of the score, with
# one attribute and with two.
NODES, LEVELS = {1: 65, 2: 17}, {1: 33, 2: 17}


class Direction(NamedTuple):
    """One of the independent ways in which the map of a score may be off.

    Attributes:
        share: of the variance of all scores together.
        score: which of them it moves.
        shift: of the logit of its table, by one standard deviation.
    """

    share: float
    score: int
    shift: Floats


def directions(
    errors: Sequence[MapError], counts: Sequence[Floats], levels: Sequence[Floats], n: int
) -> list[Direction]:
    """Return the n directions that hold most of the variance, the largest first.

    A place counts by its events, and the variance is that of arcsin √F, on which an event is worth
    the same at any level: else a cut that keeps a per cent would not matter beside one that keeps
    half.

    Args:
        errors: of the map of each score.
        counts: of each score, as in `fit_distributions`.
        levels: of the table of each score.
        n: how many directions.
    """
    moves = [_stabilised(error, own) for error, own in zip(errors, counts, strict=True)]
    found = []
    for score, (shares, normals) in enumerate(principal(moves, n)):
        shifts = errors[score].logit_shifts(normals, levels[score])
        found += [Direction(float(s), score, x) for s, x in zip(shares, shifts, strict=True)]
    return sorted(found, key=lambda direction: -direction.share)[:n]


def _stabilised(error: MapError, counts: Floats) -> Floats:
    """Return how each normal moves arcsin √F at places that count alike, (places, normals)."""
    axes, thresholds = error.errors[0].axes, error.errors[0].thresholds
    levels = thresholds[_evenly(len(thresholds), LEVELS[len(axes)])]
    nodes = [
        axis.nodes if axis.categories else axis.nodes[_evenly(len(axis.nodes), NODES[len(axes)])]
        for axis in axes
    ]
    cdf = np.clip(np.sort(error.mean(levels, nodes), axis=1), NEVER, 1 - NEVER)
    weight = _events(counts, axes, nodes)[:, None] * np.gradient(np.arcsin(np.sqrt(cdf)), axis=1)
    return np.asarray(
        np.sqrt(weight / (cdf * (1 - cdf))).reshape(-1, 1) * error.moves(levels, nodes)
    )


def _evenly(count: int, wanted: int) -> NDArray[np.int64]:
    """Return places among so many, both ends included."""
    return np.unique(np.linspace(0, count - 1, wanted).astype(np.int64))


def _events(counts: Floats, axes: Sequence[Axis], nodes: Sequence[Floats]) -> Floats:
    """Return the sum of weights around each point of a grid, none below zero, (points,)."""
    sums = counts.sum(axis=-1)
    for axis, own in zip(axes, nodes, strict=True):
        nearest = np.searchsorted((own[1:] + own[:-1]) / 2, axis.centres)
        sums = np.tensordot(sums, np.eye(len(own))[nearest], (0, 0))  # the axis comes last
    return np.asarray(np.maximum(sums, 0)).ravel()
