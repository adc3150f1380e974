import numpy as np
import pytest

pytest.importorskip("numba", reason="needs the extra `generate`")

from unsculpt.datasets.generator.detector import Detector

PERFECT = Detector(angle=0, electromagnetic=(0, 0), hadronic=(0, 0), threshold=0)
PHOTON, ELECTRON, MUON, NEUTRINO, PION = 22, -11, 13, -14, 211


def massless(energy, eta, phi):
    pt = energy / np.cosh(eta)
    return [pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta), energy]


def measure(detector, particles, pdg, event=None):
    event = np.zeros(len(pdg), int) if event is None else np.array(event)
    rng = np.random.default_rng(0)
    return detector.measure(np.array(particles, float), np.array(pdg), event, rng)


def test_energy_is_kept_and_towers_have_no_mass():
    particles = [massless(10 + i, 0.1 * i, 0.3 * i) for i in range(20)]
    towers, _ = measure(PERFECT, particles, [PHOTON, PION] * 10)
    assert towers[:, 3].sum() == pytest.approx(sum(p[3] for p in particles))
    assert np.linalg.norm(towers[:, :3], axis=1) == pytest.approx(towers[:, 3])


def test_a_tower_points_to_its_middle():
    width = 2 * np.pi / 128
    towers, _ = measure(PERFECT, [massless(50, 0.9 * width, -0.2 * width)], [PION])
    assert towers[0] == pytest.approx(massless(50, 0.5 * width, -0.5 * width))


def test_particles_in_one_tower_add_up_but_events_stay_apart():
    particles = [massless(30, 0.01, 0.01), massless(20, 0.02, 0.02), massless(5, 0.01, 0.02)]
    towers, event = measure(PERFECT, particles, [PHOTON, PION, PION], event=[0, 0, 3])
    assert towers[:, 3] == pytest.approx([50, 5])
    assert event.tolist() == [0, 3]


def test_muons_and_neutrinos_leave_nothing():
    particles = [massless(30, 0, angle) for angle in (0, 1, 2)]
    towers, _ = measure(PERFECT, particles, [MUON, NEUTRINO, ELECTRON])
    assert towers[:, 3] == pytest.approx([30])


def test_acceptance_and_threshold():
    particles = [massless(30, 2.5, 0), massless(30, 3.5, 0), massless(0.4, 0, 1)]
    towers, _ = measure(Detector(angle=0, hadronic=(0, 0)), particles, [PION] * 3)
    assert len(towers) == 1


@pytest.mark.parametrize(("pdg", "resolution"), [(PHOTON, (0.1, 0.01)), (PION, (0.5, 0.03))])
def test_resolution(pdg, resolution):
    energy, n = 100.0, 20_000
    particles = np.tile(massless(energy, 0.1, 0.1), (n, 1))
    towers, _ = measure(Detector(angle=0), particles, [pdg] * n, event=np.arange(n))
    expected = energy * np.hypot(resolution[0] / np.sqrt(energy), resolution[1])
    assert towers[:, 3].mean() == pytest.approx(energy, abs=5 * expected / np.sqrt(n))
    assert towers[:, 3].std() == pytest.approx(expected, rel=0.03)


def test_impact_points_spread():
    n, detector = 5000, Detector(angle=0.2, electromagnetic=(0, 0))
    particles = np.tile(massless(100, 0, 0), (n, 1))
    towers, _ = measure(detector, particles, [PHOTON] * n, event=np.arange(n))
    assert np.arctan2(towers[:, 1], towers[:, 0]).std() == pytest.approx(0.2, rel=0.05)
