import numpy as np
import pytest
from scipy.stats import norm

from unsculpt.decorrelators.grid import ConditionalGrid


@pytest.fixture(scope="module")
def grid():
    attribute, score = np.linspace(-1, 1, 65), np.linspace(-8, 8, 801)
    return ConditionalGrid(attribute, score, norm.cdf(score - attribute[:, None]))


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.uniform(-4, 4, 5000), rng.uniform(-1, 1, 5000)


def test_it_interpolates_the_function_in_its_table(grid, points):
    score, attribute = points
    np.testing.assert_allclose(grid.cdf(score, attribute), norm.cdf(score - attribute), atol=2e-4)


def test_it_is_exact_at_the_nodes(grid):
    attribute, score = np.meshgrid(grid.attribute, grid.score, indexing="ij")
    np.testing.assert_allclose(
        grid.cdf(score.ravel(), attribute.ravel()), grid.table.ravel(), atol=1e-15
    )


def test_inverse_undoes_cdf(grid, points):
    score, attribute = points
    np.testing.assert_allclose(
        grid.inverse(grid.cdf(score, attribute), attribute), score, atol=1e-9
    )


def test_levels_the_table_does_not_reach_give_its_ends(grid):
    ends = grid.inverse(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    assert ends[0] == -8
    assert ends[1] == pytest.approx(8, abs=1)


def test_the_order_is_kept_between_nodes(grid):
    score = np.linspace(-8, 8, 200_000)
    for attribute in (-1.0, -0.013, 0.5, 1.0):
        levels = grid.cdf(score, np.full(score.size, attribute))
        assert np.diff(levels).min() >= -1e-15


def test_flat_stretches_have_an_inverse():
    table = np.array([[0.0, 0.5, 0.5, 1.0, 1.0]] * 2)
    grid = ConditionalGrid(np.array([-1.0, 1.0]), np.arange(5.0), table)
    found = grid.inverse(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.zeros(5))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(grid.cdf(found, np.zeros(5)), [0, 0.25, 0.5, 0.75, 1.0])
