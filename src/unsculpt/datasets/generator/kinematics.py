"""Transverse momentum, rapidity, azimuth, mass and boosts of rows ``(px, py, pz, E)``."""

import math

import numpy as np

from unsculpt.datasets.generator.compiled import compiled
from unsculpt.inputs import Floats


@compiled
def transverse_momentum(p: Floats) -> float:
    """Momentum across the beam of one four-momentum."""
    return math.hypot(p[0], p[1])


@compiled
def rapidity(p: Floats) -> float:
    """Rapidity, from the larger light-cone component so that it never cancels."""
    transverse_mass2 = max(p[3] ** 2 - p[2] ** 2, p[0] ** 2 + p[1] ** 2)
    y = math.log((p[3] + abs(p[2])) / math.sqrt(transverse_mass2))
    return math.copysign(y, p[2])


@compiled
def mass(p: Floats) -> float:
    """Invariant mass; rounding below zero counts as massless."""
    return math.sqrt(max(p[3] ** 2 - p[0] ** 2 - p[1] ** 2 - p[2] ** 2, 0.0))


@compiled
def delta_r(p: Floats, q: Floats) -> float:
    """Distance in the plane of rapidity and azimuth."""
    azimuth = math.atan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1])
    return math.hypot(rapidity(p) - rapidity(q), azimuth)


@compiled
def distances(p: Floats) -> Floats:
    """All distances between ``n`` four-momenta, shape ``(n, n)``."""
    n = len(p)
    y = np.array([rapidity(row) for row in p])
    phi = np.arctan2(p[:, 1], p[:, 0])
    r = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            azimuth = math.pi - abs(math.pi - abs(phi[i] - phi[j]))
            r[i, j] = r[j, i] = math.hypot(y[i] - y[j], azimuth)
    return r


@compiled
def at_rest(p: Floats) -> Floats:
    """Three-momenta in the frame where they add up to zero, shape ``(n, 3)``.

    A system without mass has no such frame: it comes back as zeros.
    """
    total = p.sum(axis=0)
    m = mass(total)
    momenta = np.zeros((len(p), 3))
    if m <= 1e-9 * total[3]:
        return momenta
    for i in range(len(p)):
        along = (p[i, :3] * total[:3]).sum()
        momenta[i] = p[i, :3] + total[:3] * ((along / (total[3] + m) - p[i, 3]) / m)
    return momenta
