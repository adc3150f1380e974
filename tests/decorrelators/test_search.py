import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator

from unsculpt.decorrelators.grid import ConditionalGrid
from unsculpt.decorrelators.search import below, between, between_even
from unsculpt.decorrelators.tensor_grid import TensorGrid

numbers = st.floats(-1e150, 1e150)


@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers, max_size=40))
def test_below_is_the_search_of_numpy(nodes, others):
    nodes = np.sort(nodes)
    values = np.concatenate([nodes, others])
    np.testing.assert_array_equal(below(nodes, values), np.searchsorted(nodes, values))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 255, 256, 257, 1024])
def test_below_at_any_number_of_nodes(count):
    nodes, values = np.arange(count, dtype=float), np.linspace(-1, count, 3001)
    np.testing.assert_array_equal(below(nodes, values), np.searchsorted(nodes, values))


def test_between_says_where_between_two_nodes():
    left, share = between(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.25, 1.0, 2.0, 3.0, 5.0]))
    np.testing.assert_array_equal(left, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(share, [0, 0.25, 1, 0.5, 1, 2])


@pytest.mark.parametrize("count", [2, 3, 257])
def test_nodes_at_equal_distances_need_no_search(count):
    nodes = np.linspace(-1, 1, count)
    values = np.concatenate([nodes, np.random.default_rng(0).uniform(-1, 1, 10_000)])
    (one, share), (other, rest) = between(nodes, values), between_even(nodes, values)
    np.testing.assert_allclose(one + share, other + rest, atol=1e-12)
    assert other.max() == count - 2


def test_the_grids_interpolate_as_scipy_does():
    rng = np.random.default_rng(0)
    axes = [np.sort(rng.uniform(size=5)), np.linspace(-1, 1, 7), np.sort(rng.uniform(size=9))]
    events = [np.concatenate([axis, rng.uniform(axis[0], axis[-1], 500)]) for axis in axes]
    events = [values[rng.integers(0, len(values), 2000)] for values in events]
    table = rng.uniform(size=(5, 7, 9))
    *attributes, score = events
    np.testing.assert_allclose(
        TensorGrid(axes[:2], axes[2], table).cdf(score, np.column_stack(attributes)),
        RegularGridInterpolator(axes, table)(np.column_stack(events)),
        atol=1e-15,
    )
    np.testing.assert_allclose(
        ConditionalGrid(axes[1], axes[2], table[0]).cdf(score, attributes[1]),
        RegularGridInterpolator(axes[1:], table[0])(np.column_stack(events[1:])),
        atol=1e-15,
    )
