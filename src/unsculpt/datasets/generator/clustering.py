"""Exclusive kt clustering inside one jet."""

import numpy as np

from unsculpt.datasets.generator.compiled import compiled
from unsculpt.datasets.generator.kinematics import delta_r, distances, transverse_momentum
from unsculpt.inputs import Floats


@compiled
def kt_distance(p: Floats, q: Floats) -> float:
    """Return the splitting scale: the softer transverse momentum times the distance."""
    return min(transverse_momentum(p), transverse_momentum(q)) * delta_r(p, q)


@compiled
def kt_subjets(p: Floats, count: int, winner_takes_all: bool) -> Floats:
    """Merge the pair with the smallest kt distance until ``count`` subjets are left.

    There is no beam distance, so every constituent ends in a subjet. FastJet agrees with
    an exclusive clustering of very large radius.

    Args:
        p: Constituents, shape ``(n, 4)``.
        count: How many subjets to stop at.
        winner_takes_all: Whether a merged pair points along the harder of the two (axes that
            do not recoil, arXiv:1401.2158) instead of along their sum.

    Returns:
        The subjets, at most ``count`` rows.
    """
    p = p.copy()
    n = len(p)
    pt = np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2)
    d = distances(p)
    for i in range(n):
        for j in range(i):
            d[i, j] *= min(pt[i], pt[j])
    while n > count:
        i, j = 1, 0
        for a in range(n):
            for b in range(a):
                if d[a, b] < d[i, j]:
                    i, j = a, b
        if winner_takes_all:
            winner = i if pt[i] > pt[j] else j
            p[j] = p[winner] * ((pt[i] + pt[j]) / pt[winner])
        else:
            p[j] += p[i]
        n -= 1
        p[i], pt[i] = p[n], pt[n]
        pt[j] = transverse_momentum(p[j])
        for a in range(n):  # the last one moved into the gap
            d[max(a, i), min(a, i)] = d[n, a]
        for a in range(n):
            d[max(a, j), min(a, j)] = kt_distance(p[a], p[j])
    return p[:n]
