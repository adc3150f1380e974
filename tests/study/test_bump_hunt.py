import numpy as np
import pytest
from scipy.stats import norm

from unsculpt.study.bump_hunt import (
    EDGES,
    global_significance,
    pseudo_experiments,
    window_bins,
)

MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
INSIDE = window_bins((68, 101))
SMOOTH = 400 * np.exp(-(MIDDLES - 50) / 40)


def test_a_window_holds_every_bin_it_touches():
    assert EDGES[:-1][INSIDE].tolist() == list(range(68, 101, 2))


def test_significances_without_signal_are_normal():
    found = pseudo_experiments(SMOOTH, INSIDE, 200, seed=0)
    assert abs(found.mean()) < 0.25
    assert found.std() == pytest.approx(1, abs=0.15)


def test_a_bump_is_found_where_it_is():
    bump = 1500 * np.diff(norm.cdf(EDGES, 82, 8))
    assert pseudo_experiments(SMOOTH + bump, INSIDE, 20, seed=0).mean() > 3


def test_bump_hunter_tells_a_bump_from_none():
    pytest.importorskip("pyBumpHunter")
    bump = 2500 * np.diff(norm.cdf(EDGES, 82, 8))
    assert global_significance(SMOOTH, INSIDE) < 0.5
    assert global_significance(SMOOTH + bump, INSIDE) > 2
