from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator
from scipy.stats import norm

from unsculpt.decorrelators.common.empirical import Locator, count_below
from unsculpt.decorrelators.common.tables import Curves, TableCDF, TensorCDF, between_even

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
    np.testing.assert_array_equal(Locator(nodes).before(values), expected)


def test_a_search_among_nodes_that_crowd_in_a_tail():
    random = np.random.default_rng(1)
    nodes, values = np.sort(random.lognormal(0, 4, 1024)), random.lognormal(0, 4, 10_000)
    expected = np.searchsorted(nodes[1:-1], values)
    np.testing.assert_array_equal(Locator(nodes).before(values), expected)


def test_a_search_is_right_however_many_nodes_share_a_bucket():
    random = np.random.default_rng(2)
    spread = np.linspace(0, 1, 100)
    for crowd in (2, 10, 300):
        nodes = np.unique(np.concatenate([spread, random.uniform(0.5, 0.5001, crowd)]))
        values = np.concatenate([nodes, random.uniform(-0.1, 1.1, 5_000), nodes + 1e-17])
        expected = np.searchsorted(nodes[1:-1], values)
        np.testing.assert_array_equal(Locator(nodes).before(values), expected)


@pytest.mark.parametrize("count", [2, 3, 257])
def test_nodes_at_equal_distances_need_no_search(count):
    nodes = np.linspace(-1, 1, count)
    values = np.concatenate([nodes, np.random.default_rng(0).uniform(-1, 1, 10_000)])
    left, share = between_even(nodes, values)
    np.testing.assert_allclose(np.interp(left + share, np.arange(count), nodes), values, atol=1e-12)
    assert (left.min(), left.max()) == (0, count - 2)


@pytest.mark.parametrize("attributes", [1, 2])
def test_levels_are_reached_where_numpy_says_so(attributes):
    random = np.random.default_rng(attributes)
    # Crowded in the tails, as the nodes of our tables are, with flat stretches and jumps.
    nodes = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-12, 12, 200))), [1.0]])
    rise = random.exponential(size=(5,) * attributes + (len(nodes) - 1,)) * np.diff(nodes)
    rise *= random.choice([0, 1, 30], rise.shape, p=[0.1, 0.8, 0.1])
    values = np.insert(np.cumsum(rise, axis=-1), 0, 0, axis=-1)
    values /= values[..., -1:]
    row, ways = np.zeros(3_000, dtype=np.int64), []
    for stride in (5, 1)[2 - attributes :]:
        row += stride * random.integers(0, 4, len(row))
        ways.append((stride, random.uniform(size=len(row))))
    level = np.concatenate([random.uniform(size=2_000), random.uniform(size=1_000) ** 8])
    flat = values.reshape(-1, len(nodes))
    found = Curves(nodes, values).reach(row, ways, level)
    for i in range(0, len(row), 7):
        corners = {0: 1.0}
        for stride, share in ways:
            corners = {
                corner + step: weight * part
                for corner, weight in corners.items()
                for step, part in ((0, 1 - share[i]), (stride, share[i]))
            }
        curve = sum(weight * flat[row[i] + corner] for corner, weight in corners.items())
        assert np.interp(found[i], nodes, curve) == pytest.approx(level[i], abs=1e-13)
        # At a jump or a flat stretch the place is uncertain, elsewhere it is one.
        assert np.interp(level[i], curve, nodes) == pytest.approx(found[i], abs=1e-2)


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
