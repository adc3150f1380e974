import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from unsculpt.decorrelators.common.empirical import EmpiricalCDF


def ones(values):
    return np.ones(len(values))


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(0).normal(size=10_000)


@pytest.fixture(scope="module")
def cdf(normal):
    return EmpiricalCDF.measure(normal, ones(normal))


def test_the_sample_becomes_uniform(cdf, normal):
    assert kstest(cdf(normal), "uniform").statistic < 0.005


def test_weights_count_as_duplicates(normal):
    copies = np.random.default_rng(1).integers(1, 4, normal.size)
    weighted = EmpiricalCDF.measure(normal, copies.astype(float))
    repeated = np.repeat(normal, copies)
    copied = EmpiricalCDF.measure(repeated, ones(repeated))
    np.testing.assert_allclose(weighted(normal), copied(normal), atol=2e-3)


def test_the_sign_of_weights_does_not_matter(normal):
    signs = np.random.default_rng(1).choice([-1.0, 1.0], normal.size)
    np.testing.assert_array_equal(
        EmpiricalCDF.measure(normal, signs).quantiles,
        EmpiricalCDF.measure(normal, ones(normal)).quantiles,
    )


def test_inverse_undoes_it_inside_and_beyond_the_sample(cdf):
    values = np.linspace(-20, 20, 1001)
    np.testing.assert_allclose(cdf.inverse(cdf(values)), values, atol=1e-6)


def test_it_rises_beyond_the_sample_too(cdf):
    levels = cdf(np.array([-1e6, -100.0, -10.0, 0.0, 10.0, 100.0, 1e6]))
    assert np.all(np.diff(levels) > 0)
    assert np.all((levels > 0) & (levels < 1))


def test_an_atom_maps_to_the_middle_of_its_jump():
    values = np.concatenate([np.zeros(500), np.linspace(1, 2, 500)])
    cdf = EmpiricalCDF.measure(values, ones(values))
    assert cdf(np.array([0.0]))[0] == pytest.approx(0.25, abs=0.03)
    assert cdf(np.array([1.0]))[0] == pytest.approx(0.5, abs=0.05)


def test_without_atoms_the_levels_fill_the_jump_and_the_rest_stays():
    values = np.concatenate([np.zeros(500), np.linspace(1, 2, 500)])
    cdf = EmpiricalCDF.measure(values, ones(values))
    levels = cdf.without_atoms(values, np.random.default_rng(0))
    assert kstest(levels, "uniform").statistic < 0.06
    np.testing.assert_array_equal(levels[600:], cdf(values)[600:])


def test_log_slope_is_the_density(cdf):
    values = np.linspace(-2, 2, 2001)
    slope = np.exp(cdf.log_slope(values))
    assert np.trapezoid(slope, values) == pytest.approx(
        float(cdf(values[-1:])[0] - cdf(values[:1])[0]), abs=2e-3
    )


def test_log_slope_of_an_atom_is_its_log_probability():
    values = np.concatenate([np.zeros(500), np.linspace(1, 2, 500)])
    cdf = EmpiricalCDF.measure(values, ones(values))
    assert np.exp(cdf.log_slope(np.array([0.0])))[0] == pytest.approx(0.5, abs=0.05)


def test_two_knots_are_a_straight_line(normal):
    cdf = EmpiricalCDF.measure(normal, ones(normal), knots=2)
    inside = np.linspace(normal.min(), normal.max(), 11)
    np.testing.assert_allclose(np.diff(cdf(inside), n=2), 0, atol=1e-12)


def test_the_range_is_that_of_the_sample(cdf, normal):
    assert cdf.range == (normal.min(), normal.max())


def test_scores_that_underflow_give_no_nan():
    # A sigmoid in double precision ends in such numbers.
    values = np.concatenate([np.zeros(5), np.logspace(-320, 0, 95)])
    cdf = EmpiricalCDF.measure(values, ones(values))
    levels = cdf(np.sort(np.concatenate([values, values / 3, values * 1.5])))
    assert np.all((levels >= 0) & (levels <= 1))
    assert np.diff(levels).min() >= -1e-12
    assert not np.isnan(cdf.log_slope(values)).any()


@given(
    st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=60, unique=True),
    st.lists(st.floats(-1e35, 1e35), min_size=1, max_size=30),
)
def test_any_sample_gives_ordered_levels_between_zero_and_one(sample, values):
    sample = np.array(sample)
    cdf = EmpiricalCDF.measure(sample, ones(sample))
    levels = cdf(np.sort(np.concatenate([sample, values])))
    assert np.all((levels >= 0) & (levels <= 1))
    assert np.diff(levels).min(initial=0) >= -1e-12


def test_a_small_atom_in_a_continuous_score_has_its_jump():
    rng = np.random.default_rng(0)
    values = np.where(rng.uniform(size=20_000) < 0.004, 0.3, rng.normal(size=20_000))
    cdf = EmpiricalCDF.measure(values, np.ones(values.size))
    levels = cdf.without_atoms(np.full(1000, 0.3), rng)
    assert np.ptp(levels) == pytest.approx(np.mean(values == 0.3), rel=0.05)


def test_every_leaf_of_a_tree_has_its_jump():
    values = np.random.default_rng(0).integers(0, 300, size=20_000).astype(float)
    cdf = EmpiricalCDF.measure(values, np.ones(values.size))
    start = np.mean(values < 150)
    assert cdf(np.array([150.0]))[0] == pytest.approx(start + np.mean(values == 150) / 2)
