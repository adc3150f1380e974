from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator
from scipy.stats import norm

from unsculpt.decorrelators.common.empirical import Search, count_below
from unsculpt.decorrelators.common.tables import TableCDF, TensorCDF, between, between_even

numbers = st.floats(-1e150, 1e150)


class Same:
    """A coordinate that changes nothing."""

    range = (-8.0, 8.0)

    def __call__(self, values):
        return values

    inverse = __call__


@pytest.fixture(scope="module")
def table():
    attribute, score = np.linspace(-1, 1, 65), np.linspace(-8, 8, 801)
    return TableCDF(Same(), attribute, score, norm.cdf(score - attribute[:, None]))


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.uniform(-4, 4, 5000), rng.uniform(-1, 1, (5000, 1))


def test_it_interpolates_the_function_in_its_table(table, points):
    score, attribute = points
    np.testing.assert_allclose(
        table.cdf(score, attribute), norm.cdf(score - attribute[:, 0]), atol=2e-4
    )


def test_it_is_exact_at_the_nodes(table):
    attribute, score = np.meshgrid(table.attribute, table.score, indexing="ij")
    np.testing.assert_allclose(
        table.cdf(score.ravel(), attribute.reshape(-1, 1)), table.values.ravel(), atol=1e-15
    )


def test_inverse_undoes_cdf(table, points):
    score, attribute = points
    np.testing.assert_allclose(
        table.inverse(table.cdf(score, attribute), attribute), score, atol=1e-9
    )


def test_levels_the_table_does_not_reach_give_its_ends(table):
    ends = table.inverse(np.array([0.0, 1.0]), np.zeros((2, 1)))
    assert ends[0] == -8
    assert ends[1] == pytest.approx(8, abs=1)


def test_the_order_is_kept_between_nodes(table):
    score = np.linspace(-8, 8, 200_000)
    for attribute in (-1.0, -0.013, 0.5, 1.0):
        levels = table.cdf(score, np.full((score.size, 1), attribute))
        assert np.diff(levels).min() >= -1e-15


def test_flat_stretches_have_an_inverse():
    values = np.array([[0.0, 0.5, 0.5, 1.0, 1.0]] * 2)
    table = TableCDF(Same(), np.array([-1.0, 1.0]), np.arange(5.0), values)
    found = table.inverse(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.zeros((5, 1)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(table.cdf(found, np.zeros((5, 1))), [0, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers, max_size=40))
def test_count_below_is_the_search_of_numpy(nodes, others):
    nodes = np.sort(nodes)
    values = np.concatenate([nodes, others])
    np.testing.assert_array_equal(count_below(nodes, values), np.searchsorted(nodes, values))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 255, 256, 257, 1024])
def test_count_below_at_any_number_of_nodes(count):
    nodes, values = np.arange(count, dtype=float), np.linspace(-1, count, 3001)
    np.testing.assert_array_equal(count_below(nodes, values), np.searchsorted(nodes, values))


@given(
    st.lists(numbers, min_size=2, max_size=40, unique=True),
    st.lists(numbers, max_size=40),
    st.sampled_from([1.0, 1e-300, 1e150]),
)
def test_a_search_finds_the_node_before_at_any_scale(nodes, others, scale):
    nodes = np.unique(np.array(nodes) * scale)
    assume(len(nodes) > 1)
    values = np.concatenate([nodes, np.array(others) * scale])
    expected = np.searchsorted(nodes[1:-1], values)
    np.testing.assert_array_equal(Search(nodes).before(values), expected)


def test_a_search_among_nodes_that_crowd_in_a_tail():
    random = np.random.default_rng(1)
    nodes, values = np.sort(random.lognormal(0, 4, 1024)), random.lognormal(0, 4, 10_000)
    expected = np.searchsorted(nodes[1:-1], values)
    np.testing.assert_array_equal(Search(nodes).before(values), expected)


def test_between_says_where_between_two_nodes():
    nodes = Search(np.array([0.0, 1.0, 3.0]))
    left, share = between(nodes, np.array([0.0, 0.25, 1.0, 2.0, 3.0, 5.0]))
    np.testing.assert_array_equal(left, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(share, [0, 0.25, 1, 0.5, 1, 2])


@pytest.mark.parametrize("count", [2, 3, 257])
def test_nodes_at_equal_distances_need_no_search(count):
    nodes = np.linspace(-1, 1, count)
    values = np.concatenate([nodes, np.random.default_rng(0).uniform(-1, 1, 10_000)])
    (one, share), (other, rest) = between(Search(nodes), values), between_even(nodes, values)
    np.testing.assert_allclose(one + share, other + rest, atol=1e-12)
    assert other.max() == count - 2


def test_tables_interpolate_as_scipy_does():
    rng = np.random.default_rng(0)
    axes = [np.linspace(0, 1, 5), np.linspace(-1, 1, 7), np.sort(rng.uniform(size=9))]
    events = [np.concatenate([axis, rng.uniform(axis[0], axis[-1], 500)]) for axis in axes]
    events = [values[rng.integers(0, len(values), 2000)] for values in events]
    table = rng.uniform(size=(5, 7, 9))
    *attributes, score = events
    by_position = SimpleNamespace(positions=lambda features: features)
    np.testing.assert_allclose(
        TensorCDF(Same(), by_position, axes[:2], axes[2], table).cdf(
            score, np.column_stack(attributes)
        ),
        RegularGridInterpolator(axes, table)(np.column_stack(events)),
        atol=1e-15,
    )
    np.testing.assert_allclose(
        TableCDF(Same(), axes[1], axes[2], table[0]).cdf(score, attributes[1][:, None]),
        RegularGridInterpolator(axes[1:], table[0])(np.column_stack(events[1:])),
        atol=1e-15,
    )
