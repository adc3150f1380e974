import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba", reason="needs the extra `generate`")

from unsculpt.datasets import COLUMNS
from unsculpt.datasets.generator import substructure as sub

pytestmark = pytest.mark.slow  # half a minute to compile
MASS, PT, TAU21, C2, D2, FW, PF, AP, ZCUT, KTDR, SQRTD12 = range(11)
some_jets = given(st.integers(0, 10_000))
few = settings(max_examples=25, deadline=None)


def massless(pt, y, phi):
    pt, y, phi = np.broadcast_arrays(*(np.asarray(v, float) for v in (pt, y, phi)))
    return np.stack([pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(y), pt * np.cosh(y)], axis=-1)


def boost(p, axis, gamma):
    along, energy, speed = p[:, axis], p[:, 3], np.sqrt(1 - gamma**-2)
    moved = p.copy()
    moved[:, axis] = gamma * (along + speed * energy)
    moved[:, 3] = gamma * (energy + speed * along)
    return moved


def rotate(p, axis, angle):
    a, b = (i for i in range(3) if i != axis)
    turned = p.copy()
    turned[:, a] = np.cos(angle) * p[:, a] - np.sin(angle) * p[:, b]
    turned[:, b] = np.sin(angle) * p[:, a] + np.cos(angle) * p[:, b]
    return turned


def from_rest(directions, gamma=2.0):
    """Massless particles of energy 50, boosted along x so that they make a jet."""
    p = 50 * np.asarray(directions, float)
    return boost(np.column_stack([p, np.full(len(p), 50.0)]), axis=0, gamma=gamma)


def random_jet(seed, n=25):
    """A busy jet at the azimuth where angles wrap around."""
    rng = np.random.default_rng(seed)
    return massless(rng.exponential(10, n) + 0.5, rng.normal(0.4, 0.3, n), rng.normal(3, 0.3, n))


ROOT = np.sqrt(0.75)
STAR = [(0, 1, 0), (0, -0.5, ROOT), (0, -0.5, -ROOT)]  # across the boost
LYING_STAR = [(1, 0, 0), (-0.5, ROOT, 0), (-0.5, -ROOT, 0)]  # along it
OCTAHEDRON = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]


def test_one_particle_has_no_substructure():
    jet = massless([320.0], 0.3, 1.0)
    found = sub.variables(jet)
    assert found[PT] == pytest.approx(320)
    assert found[MASS] == pytest.approx(0, abs=1e-4)
    assert np.all(found[TAU21:] == 0)


def test_two_prongs():
    r = 0.5
    found = sub.variables(massless(150.0, 0.0, [-r / 2, r / 2]))
    m2 = 2 * 150**2 * (1 - np.cos(r))
    expected = {
        PT: 300 * np.cos(r / 2), MASS: np.sqrt(m2), TAU21: 0, C2: 0, D2: 0, FW: 1, PF: 0, AP: 0,
        KTDR: r, SQRTD12: 150 * r, ZCUT: (150 * r) ** 2 / ((150 * r) ** 2 + m2),
    }  # fmt: skip
    for column, value in expected.items():
        assert found[column] == pytest.approx(value, abs=1e-7), COLUMNS[column]


def test_softer_prong_sets_the_splitting_scale():
    zcut, ktdr, sqrtd12 = sub.kt_splitting(massless([250.0, 80.0], [0.0, 0.6], [0.0, 0.8]))
    assert (ktdr, sqrtd12) == pytest.approx((1.0, 80.0))
    m2 = 2 * 250 * 80 * (np.cosh(0.6) - np.cos(0.8))
    assert zcut == pytest.approx(80**2 / (80**2 + m2))


def test_equilateral_triangle_of_three_equal_prongs():
    s = 0.4
    found = sub.variables(massless(100.0, [0, 0, s * ROOT], [0, s, s / 2]))
    assert found[C2] == pytest.approx(s / 3)
    assert found[D2] == pytest.approx(1)
    assert found[TAU21] == pytest.approx(0.5)  # one of two misses an axis, then one of one


def test_symmetric_star_across_the_jet_axis():
    jet = from_rest(STAR)
    assert sub.planar_flow(jet) == pytest.approx(1)
    assert sub.aplanarity(jet) == pytest.approx(0, abs=1e-12)
    assert sub.fox_wolfram(jet) == pytest.approx(0.25)


def test_star_that_holds_the_jet_axis_is_a_line_to_planar_flow():
    jet = from_rest(LYING_STAR)
    assert sub.planar_flow(jet) == pytest.approx(0, abs=1e-12)
    assert sub.fox_wolfram(jet) == pytest.approx(0.25)


def test_octahedron_is_a_sphere():
    jet = from_rest(OCTAHEDRON)
    assert sub.fox_wolfram(jet) == pytest.approx(0, abs=1e-12)
    assert sub.aplanarity(jet) == pytest.approx(0.5)
    assert sub.planar_flow(jet) == pytest.approx(1)


def test_energy_correlators_are_the_plain_sums():
    jet = random_jet(1, n=7)
    pt, phi = np.hypot(jet[:, 0], jet[:, 1]), np.arctan2(jet[:, 1], jet[:, 0])
    z, y = pt / pt.sum(), np.arctanh(jet[:, 2] / jet[:, 3])
    r = np.hypot(y[:, None] - y, np.angle(np.exp(1j * (phi[:, None] - phi))))
    e2 = np.einsum("i,j,ij", z, z, r) / 2
    e3 = np.einsum("i,j,k,ij,jk,ki", z, z, z, r, r, r) / 6
    assert sub.energy_correlators(jet) == pytest.approx((e2, e3))


def test_fox_wolfram_is_the_double_sum_over_legendre_polynomials():
    q = sub.at_rest(random_jet(2))
    size = np.linalg.norm(q, axis=1)
    cosine = q @ q.T / np.outer(size, size)
    h2 = (np.outer(size, size) * (3 * cosine**2 - 1) / 2).sum()
    assert sub.fox_wolfram(random_jet(2)) == pytest.approx(h2 / size.sum() ** 2)


def test_rest_frame_has_no_momentum_and_the_mass_as_energy():
    jet = random_jet(3)
    q = sub.at_rest(jet)
    assert q.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert np.linalg.norm(q, axis=1).sum() == pytest.approx(sub.mass(jet.sum(axis=0)))


@few
@some_jets
def test_boosts_along_the_beam_and_turns_around_it_change_nothing(seed):
    jet = random_jet(seed)
    moved = rotate(boost(jet, axis=2, gamma=1.7), axis=2, angle=2.0)
    same = [i for i in range(11) if i != PF]  # its axis is a direction in space
    assert sub.variables(moved)[same] == pytest.approx(sub.variables(jet)[same], rel=1e-6)


@few
@some_jets
def test_rest_frame_shapes_do_not_know_the_boost(seed):
    jet = random_jet(seed)
    moved = rotate(boost(jet, axis=0, gamma=3.0), axis=1, angle=0.4)
    assert sub.fox_wolfram(moved) == pytest.approx(sub.fox_wolfram(jet), rel=1e-6)
    assert sub.aplanarity(moved) == pytest.approx(sub.aplanarity(jet), rel=1e-6)


@few
@some_jets
def test_planar_flow_does_not_know_directions(seed):
    jet = random_jet(seed)
    assert sub.planar_flow(rotate(jet, axis=0, angle=1.0)) == pytest.approx(sub.planar_flow(jet))


@few
@some_jets
def test_collinear_splitting_changes_nothing(seed):
    jet = random_jet(seed)
    split = np.concatenate([jet[:-1], 0.3 * jet[-1:], 0.7 * jet[-1:]])
    same = [i for i in range(11) if i != AP]  # quadratic in momenta, so not collinear safe
    assert sub.variables(split)[same] == pytest.approx(sub.variables(jet)[same], rel=1e-6)


@few
@some_jets
def test_order_and_units_do_not_matter(seed):
    jet = random_jet(seed)
    found, in_mev = sub.variables(jet), sub.variables(1000 * jet[::-1])
    in_mev[[MASS, PT, SQRTD12]] /= 1000
    assert in_mev == pytest.approx(found, rel=1e-6)


def test_many_jets_are_jet_by_jet():
    jets = [random_jet(seed, n=5 + seed) for seed in range(4)]
    table = sub.variables_of_jets(np.concatenate(jets), np.array([len(jet) for jet in jets]))
    assert table == pytest.approx(np.array([sub.variables(jet) for jet in jets]))
