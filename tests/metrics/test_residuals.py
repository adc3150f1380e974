import numpy as np
import pytest
from scipy.stats import kstest

from unsculpt.metrics.residuals import pass_ratio


def test_it_is_the_share_in_the_cell_over_that_of_all():
    passing = np.array([True, True, False, True, False, False])
    weight = np.array([1.0, 2, 1, 1, 1, 2])
    ratio = pass_ratio(passing, weight, np.array([0, 0, 0, 1, 1, 3]), 3)
    np.testing.assert_allclose(ratio.value, [0.75 * 2, 0.5 * 2, np.nan])


@pytest.mark.parametrize("cells", [2, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_pulls_of_flat_selections_are_normal(cells, weighted):
    """Two cells are half of all events each: an error that forgot so would be too large."""
    random = np.random.default_rng(1)
    pulls = []
    for _ in range(300):
        weight = random.exponential(size=2000) if weighted else np.ones(2000)
        passing = random.uniform(size=2000) < 0.2
        ratio = pass_ratio(passing, weight, random.integers(cells, size=2000), cells)
        pulls.append(((ratio.value - 1) / (ratio.high - ratio.value))[0])
    assert np.std(pulls) == pytest.approx(1, abs=0.13)
    assert kstest(pulls, "norm").pvalue > 1e-3


def test_a_cell_where_nothing_passes_has_an_error():
    passing = np.arange(1000) % 100 == 0
    ratio = pass_ratio(passing, np.ones(1000), (np.arange(1000) % 100) // 10, 10)
    assert ratio.value[5] == 0
    assert ratio.high[5] > 0.05
