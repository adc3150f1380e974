"""The error of maps as independent shifts of them, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit, logit

from unsculpt.inputs import Floats, whole_number

NEVER = 1e-9  # a probability that may stand for zero


class Directions(NamedTuple):
    """Independent ways in which the map of a score may be off, the largest first.

    Attributes:
        shares: of the variance of all scores together, (k,).
        normals: how far each goes along the independent moves of the map, (k, moves).
    """

    shares: Floats
    normals: Floats


def principal(moves: Sequence[Floats], n: int) -> list[Directions]:
    """Return the n directions that hold most of the variance, by the score that they move.

    They are eigenvectors of the covariance of a map. Scores are taken to be off independently of
    each other.

    Args:
        moves: of each score, how independent unit normals move its map at places that count
            alike, (places, normals).
        n: how many directions.
    """
    sizes = [own.shape[1] for own in moves]
    if whole_number(n, "n") > sum(sizes):
        raise ValueError(f"n is {n!r}; expected 1 to {sum(sizes):,} pairs of variations")
    variances, normals = [], []
    for own, size in zip(moves, sizes, strict=True):
        values, vectors = eigh(own.T @ own, subset_by_index=(max(size - n, 0), size - 1))
        variances.append(values[::-1])
        # Up is a rise of the new score where it moves most.
        moved = own @ vectors
        largest = np.take_along_axis(moved, np.abs(moved).argmax(axis=0)[None], axis=0)
        normals.append((vectors * np.sign(largest)).T[::-1])
    least, total = np.sort(np.concatenate(variances))[-n], sum((own**2).sum() for own in moves)
    kept = [int((own >= least).sum()) for own in variances]
    return [
        Directions(shares[:k] / total, along[:k])
        for k, shares, along in zip(kept, variances, normals, strict=True)
    ]


def shifted(table: Floats, shift: Floats) -> Floats:
    """Return a table whose logit is shifted, increasing along the score."""
    return np.sort(expit(logit(np.clip(table, NEVER, 1 - NEVER)) + shift), axis=-1)
