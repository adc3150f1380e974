"""What is inside a jet: its transverse momentum, mass and nine substructure variables.

Every function takes the constituents of one jet as rows ``(px, py, pz, E)`` in GeV. Distances
are in rapidity and azimuth, angular exponents are 1. A variable that a jet is too simple to
have, such as the splitting scale of one particle, is 0.

The choice of variables follows ATL-PHYS-PUB-2018-014, Table 1.
"""

import math

import numpy as np

from unsculpt.datasets.generator.clustering import kt_distance, kt_subjets
from unsculpt.datasets.generator.compiled import Ints, compiled
from unsculpt.datasets.generator.kinematics import (
    at_rest,
    delta_r,
    distances,
    mass,
    transverse_momentum,
)
from unsculpt.inputs import Floats


@compiled
def n_subjettiness(p: Floats, axes: int) -> float:
    """τ_N: distance to the nearest of N axes, averaged over transverse momentum.

    The axes are winner-takes-all kt subjets (arXiv:1011.2268, arXiv:1401.2158).
    """
    subjets = kt_subjets(p, axes, True)
    tau, scale = 0.0, 0.0
    for constituent in p:
        nearest = min([delta_r(constituent, axis) for axis in subjets])
        tau += transverse_momentum(constituent) * nearest
        scale += transverse_momentum(constituent)
    return tau / scale


@compiled
def tau21(p: Floats) -> float:
    """τ2/τ1: small when two prongs describe the jet much better than one."""
    tau1 = n_subjettiness(p, 1)
    return n_subjettiness(p, 2) / tau1 if tau1 > 0 else 0.0


@compiled
def energy_correlators(p: Floats) -> tuple[float, float]:
    """Two- and three-point correlators e2 and e3 (arXiv:1305.0007)."""
    pt = np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2)
    z = pt / pt.sum()
    r = distances(p)
    e2, e3 = 0.0, 0.0
    for i in range(len(p)):
        for j in range(i):
            third = 0.0
            for k in range(j):
                third += z[k] * r[i, k] * r[j, k]
            pair = z[i] * z[j] * r[i, j]
            e2 += pair
            e3 += pair * third
    return e2, e3


@compiled
def c2(e2: float, e3: float) -> float:
    """C2 = e3/e2² (arXiv:1305.0007)."""
    return e3 / e2**2 if e2 > 0 else 0.0


@compiled
def d2(e2: float, e3: float) -> float:
    """D2 = e3/e2³ (arXiv:1409.6298)."""
    return e3 / e2**3 if e2 > 0 else 0.0


@compiled
def fox_wolfram(p: Floats) -> float:
    """H2/H0 in the rest frame of the jet: 1 for two prongs, 0 for a sphere.

    With T = Σ p pᵀ/|p| the double sum over |pᵢ||pⱼ|P₂(cos θᵢⱼ) is (3 tr T² - (tr T)²)/2.
    """
    momenta = at_rest(p)
    tensor = np.zeros((3, 3))
    for q in momenta:
        size = math.sqrt((q**2).sum())
        if size > 0:
            tensor += np.outer(q, q) / size
    trace = np.trace(tensor)
    return 1.5 * (tensor**2).sum() / trace**2 - 0.5 if trace > 0 else 0.0


@compiled
def aplanarity(p: Floats) -> float:
    """3/2 of the smallest eigenvalue of the sphericity tensor in the rest frame of the jet."""
    momenta = at_rest(p)
    tensor = momenta.T.copy() @ momenta
    trace = np.trace(tensor)
    return max(1.5 * np.linalg.eigvalsh(tensor)[0] / trace, 0.0) if trace > 0 else 0.0


@compiled
def planar_flow(p: Floats) -> float:
    """4 det I/(tr I)² with I = Σ k kᵀ/E, k the momentum across the jet axis (arXiv:0807.0234)."""
    axis = p.sum(axis=0)[:3]
    axis = axis / math.sqrt((axis**2).sum())
    aside = np.zeros(3)
    aside[np.argmin(np.abs(axis))] = 1.0  # any direction well away from the axis will do
    first = np.cross(axis, aside)
    first /= math.sqrt((first**2).sum())
    second = np.cross(axis, first)
    xx, yy, xy = 0.0, 0.0, 0.0
    for q in p:
        x, y = (q[:3] * first).sum(), (q[:3] * second).sum()
        xx += x * x / q[3]
        yy += y * y / q[3]
        xy += x * y / q[3]
    trace = xx + yy
    return max(4 * (xx * yy - xy * xy) / trace**2, 0.0) if trace > 1e-12 else 0.0


@compiled
def kt_splitting(p: Floats) -> tuple[float, float, float]:
    """Return the last kt merging: ``zcutdef`` = d12/(d12 + m²), ``ktdr`` and ``sqrtd12``."""
    if len(p) < 2:
        return 0.0, 0.0, 0.0
    subjets = kt_subjets(p, 2, False)
    sqrtd12 = kt_distance(subjets[0], subjets[1])
    d12, m = sqrtd12**2, mass(p.sum(axis=0))
    zcut = d12 / (d12 + m**2) if d12 > 0 else 0.0
    return zcut, delta_r(subjets[0], subjets[1]), sqrtd12


@compiled
def variables(p: Floats) -> Floats:
    """All eleven numbers of a jet, in the order of :data:`unsculpt.datasets.COLUMNS`."""
    jet = p.sum(axis=0)
    e2, e3 = energy_correlators(p)
    zcut, ktdr, sqrtd12 = kt_splitting(p)
    return np.array([
        mass(jet), transverse_momentum(jet), tau21(p), c2(e2, e3), d2(e2, e3), fox_wolfram(p),
        planar_flow(p), aplanarity(p), zcut, ktdr, sqrtd12,
    ])  # fmt: skip


@compiled
def variables_of_jets(p: Floats, counts: Ints) -> Floats:
    """Return `variables` of jets whose constituents follow each other, ``counts`` to a jet."""
    table = np.empty((len(counts), 11))
    start = 0
    for jet in range(len(counts)):
        table[jet] = variables(p[start : start + counts[jet]])
        start += counts[jet]
    return table
