"""The error of a map as independent shifts of it, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import expit, logit

from unsculpt.decorrelators.spline.axes import Axis
from unsculpt.decorrelators.spline.distribution import NEVER
from unsculpt.decorrelators.spline.errors import MapError
from unsculpt.inputs import Floats, whole_number

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

    They are eigenvectors of the covariance of a map over score and attributes. A place counts by
    its events, and the variance is that of arcsin √F, on which an event is worth the same at any
    level: else a cut that keeps a per cent would not matter beside one that keeps half. Scores are
    taken to be off independently of each other.

    Args:
        errors: of the map of each score.
        counts: of each score, as in `fit_distributions`.
        levels: of the table of each score.
        n: how many directions.
    """
    sizes = [error.size for error in errors]
    if whole_number(n, "n") > sum(sizes):
        raise ValueError(f"n is {n!r}; expected 1 to {sum(sizes):,} pairs of variations")
    variances, normals, total = [], [], 0.0
    for error, own, size in zip(errors, counts, sizes, strict=True):
        moves = _stabilised(error, own)
        total += (moves**2).sum()
        values, vectors = eigh(moves.T @ moves, subset_by_index=(max(size - n, 0), size - 1))
        variances.append(values[::-1])
        # Up is a rise of the new score where it moves most.
        moved = moves @ vectors
        most = np.take_along_axis(moved, np.abs(moved).argmax(axis=0)[None], axis=0)
        normals.append((vectors * np.sign(most)).T[::-1])
    least = np.sort(np.concatenate(variances))[-n]
    found = []
    for score, (error, own) in enumerate(zip(errors, levels, strict=True)):
        kept = variances[score][variances[score] >= least] / total
        shifts = error.logit_shifts(normals[score][: len(kept)], own)
        found += [Direction(float(s), score, x) for s, x in zip(kept, shifts, strict=True)]
    return sorted(found, key=lambda direction: -direction.share)[:n]


def shifted(table: Floats, shift: Floats) -> Floats:
    """Return a table whose logit is shifted, increasing along the score."""
    return np.sort(expit(logit(np.clip(table, NEVER, 1 - NEVER)) + shift), axis=-1)


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
