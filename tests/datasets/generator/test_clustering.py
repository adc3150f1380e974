"""FastJet is the judge of our kt clustering."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="needs the extra `generate`")
fastjet = pytest.importorskip("fastjet", reason="needs the extra `generate`")

from unsculpt.datasets.generator.clustering import kt_distance, kt_subjets
from unsculpt.datasets.generator.substructure import n_subjettiness


def random_jet(seed, n):
    rng = np.random.default_rng(seed)
    p = np.array([300.0, 0.0, 100.0]) * rng.exponential(1 / n, (n, 1)) + rng.normal(0, 3, (n, 3))
    return np.column_stack([p, np.sqrt((p**2).sum(axis=1) + 0.14**2)])


def fastjet_subjets(p, count, scheme):
    definition = fastjet.JetDefinition(
        fastjet.kt_algorithm, fastjet.JetDefinition.max_allowable_R, scheme
    )
    particles = [fastjet.PseudoJet(*map(float, row)) for row in p]
    sequence = fastjet.ClusterSequence(particles, definition)
    return sequence, sequence.exclusive_jets(count)


def by_pt(p):
    return p[np.argsort(np.hypot(p[:, 0], p[:, 1]))]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_subjets_are_those_of_fastjet(seed, count):
    p = random_jet(seed, n=30)
    _, jets = fastjet_subjets(p, count, fastjet.E_scheme)
    expected = np.array([[j.px(), j.py(), j.pz(), j.e()] for j in jets])
    assert by_pt(kt_subjets(p, count, False)) == pytest.approx(by_pt(expected), rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_splitting_scale_is_that_of_fastjet(seed):
    p = random_jet(seed, n=30)
    sequence, _ = fastjet_subjets(p, 2, fastjet.E_scheme)
    d12 = sequence.exclusive_dmerge(1) * fastjet.JetDefinition.max_allowable_R**2
    assert kt_distance(*kt_subjets(p, 2, False)) ** 2 == pytest.approx(d12)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_n_subjettiness_with_the_axes_of_fastjet(seed, axes):
    p = random_jet(seed, n=30)
    _, jets = fastjet_subjets(p, axes, fastjet.WTA_pt_scheme)
    particles = [fastjet.PseudoJet(*map(float, row)) for row in p]
    pt = np.array([q.pt() for q in particles])
    nearest = [min(q.delta_R(axis) for axis in jets) for q in particles]
    assert n_subjettiness(p, axes) == pytest.approx(pt @ nearest / pt.sum())


def test_fewer_particles_than_subjets_are_left_alone():
    p = random_jet(0, n=2)
    assert kt_subjets(p, 3, False) == pytest.approx(p)
