import numpy as np
import pytest

from unsculpt.study.pass_fraction import chi2_per_bin, merge_sparse

BINS = np.linspace(0, 5, 51)


def test_neighbours_are_merged_until_they_expect_enough():
    expected = np.array([30, 10, 10, 10, 40, 3, 0, 24, 20, 4])
    first = merge_sparse(expected, 25)
    assert first.tolist() == [0, 1, 4, 5]
    assert np.add.reduceat(expected, first).tolist() == [30, 30, 40, 51]  # the rest joins the last


@pytest.mark.parametrize("expected", [[5, 5, 5], [100], [0, 0]])
def test_too_few_events_are_one_bin(expected):
    assert merge_sparse(np.array(expected), 25).tolist() == [0]


def selections(weights=None, events=20_000):
    """Masses that fall steeply, so that most bins are sparse, and random selections of them."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        weight = None if weights is None else rng.choice(weights, events)
        yield rng.exponential(1, events), rng.random(events) < 0.03, weight


@pytest.mark.parametrize("weights", [None, [0.5, 4.0]])
def test_random_selections_have_one(weights):
    found = [chi2_per_bin(mass, passes, BINS, w) for mass, passes, w in selections(weights)]
    assert np.mean(found) == pytest.approx(1, abs=4 * np.std(found) / 40**0.5)
    assert np.std(found) < 0.6


def test_a_selection_that_prefers_a_mass_has_more():
    mass, passes, _ = next(selections())
    assert chi2_per_bin(mass, passes | ((mass > 1) & (mass < 1.1)), BINS) > 5


def test_a_single_bin_tells_nothing():
    assert np.isnan(chi2_per_bin(np.ones(30), np.arange(30) < 3, BINS))
