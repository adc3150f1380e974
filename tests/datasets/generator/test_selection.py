import numpy as np
import pytest

for needed in ("numba", "awkward", "fastjet"):
    pytest.importorskip(needed, reason="needs the extra `generate`")

from unsculpt.datasets.generator.selection import Particles, cluster, contains_decay


def massless(pt, eta, phi):
    return [pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta), pt * np.cosh(eta)]


def two_prongs(pt, eta, phi, opening=0.5):
    return [massless(pt / 2, eta, phi - opening / 2), massless(pt / 2, eta, phi + opening / 2)]


def test_only_jets_in_the_window_are_kept():
    events = [
        two_prongs(350, 0, 1) + two_prongs(340, 0.5, -2),
        two_prongs(250, 0, 1) + two_prongs(450, 0, -2),  # too soft, too hard
        two_prongs(350, 2.2, 1) + two_prongs(350, 0, -2, opening=0.1),  # forward, too light
        two_prongs(350, 0, 3.1),
    ]
    p = np.array([particle for event in events for particle in event])
    home = np.repeat(np.arange(4), [len(event) for event in events])
    jets, event, constituents, counts = cluster(p, home, events=5)
    assert event.tolist() == [0, 0, 3]
    assert counts.tolist() == [2, 2, 2]
    sums = constituents.reshape(3, 2, 4).sum(axis=1)
    assert sums == pytest.approx(jets)
    assert np.sort(np.hypot(*sums[:2, :2].T)) == pytest.approx(np.array([340, 350]) * np.cos(0.25))


def decay(parent, *quarks):
    """A W or top at rest in the record's place 0, and the quarks it points to."""
    p = np.array([[0, 0, 0, 1.0], *(massless(100, 0, phi) for phi in quarks)])
    n = len(quarks)
    return p, [parent] + [1] * n, [-62] + [-23] * n, [0] * (n + 1)


def record(*decays):
    p, pdg, status, mother = zip(*decays, strict=True)
    start = np.cumsum([0] + [len(rows) for rows in p])
    return Particles(
        p=np.concatenate(p),
        pdg=np.concatenate(pdg),
        status=np.concatenate(status),
        mother=np.concatenate([np.add(m, s) for m, s in zip(mother, start, strict=False)]),
        event=np.zeros(start[-1], int),
    )


def test_a_jet_has_to_hold_all_quarks_of_one_w():
    particles = record(decay(24, 0.0, 0.6), decay(-24, 2.0, 3.3))
    jets = np.array([massless(350, 0, phi) for phi in (0.3, 0.9, 2.5, 1.3)])
    held = contains_decay(jets, np.zeros(4, int), particles, quarks=2)
    assert held.tolist() == [True, True, True, False]


def test_the_azimuth_wraps_around():
    particles = record(decay(24, 3.0, -3.0), decay(-24, 0.0, 0.1))
    assert contains_decay(np.array([massless(350, 0, np.pi)]), np.zeros(1, int), particles, 2).all()
