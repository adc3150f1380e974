import numpy as np
import pytest

from unsculpt.study.claims import (
    _nowhere_behind,
    _same_share_passes,
    error_of_difference,
    mean_difference,
)
from unsculpt.study.results import Results

TRAININGS, JETS = np.array([3.0, -1, -4, 2]), np.array([1.0, -2, 0, 1, -1, 2, 0, -1, 1, -1])


def results(trainings=0, jets=0):
    """Four trainings of one point, whose ratio to ideal is 0.6 but for noise of either kind."""
    noise = np.broadcast_to(trainings, 4)
    return Results(
        [
            {
                "alpha": 25.0,
                "seed": seed,
                "ideal": 100.0,
                "inverse_jsd50": 60 + noise[seed],
                "inverse_jsd50_without": list(60 + noise[seed] + np.broadcast_to(jets, 10)),
            }
            for seed in range(4)
        ]
    )


def test_noise_that_both_recipes_share_is_no_error_of_their_difference():
    both = results(TRAININGS, JETS)
    assert error_of_difference(both, both) == pytest.approx(0)


def test_trainings_average_out():
    error = error_of_difference(results(TRAININGS), results())
    assert error == pytest.approx(np.std(TRAININGS, ddof=1) / 4**0.5 / 100)


def test_test_jets_do_not_average_out():
    error = error_of_difference(results(jets=JETS), results())
    assert error == pytest.approx((9 / 10 * np.sum((JETS - JETS.mean()) ** 2)) ** 0.5 / 100)


def test_over_strengths_a_seed_counts_once():
    one, other = (
        Results([row | {"alpha": a} for a in (25.0, 50.0) for row in results(trainings).rows])
        for trainings in (TRAININGS, 0)
    )
    difference, error = mean_difference(one, other)
    assert difference == pytest.approx(-TRAININGS.mean() / 100)
    assert error == pytest.approx(np.std(TRAININGS, ddof=1) / 4**0.5 / 100)


def test_both_add_in_quadrature():
    parts = [
        error_of_difference(results(**x), results())
        for x in ({"trainings": TRAININGS}, {"jets": JETS})
    ]
    error = error_of_difference(results(TRAININGS, JETS), results())
    assert error == pytest.approx(np.hypot(*parts))


@pytest.mark.parametrize(("behind", "verdict"), [(-0.07, "yes"), (-0.09, "**no**")])
def test_no_point_may_be_behind_by_more_than_twice_the_error(behind, verdict):
    names = [f"DisCo at {25 * i}" for i in range(31)]
    paper, errors = np.full(31, 0.6), np.full(31, 0.04)
    ours = paper + 0.01
    ours[6] = paper[6] + behind
    claim = _nowhere_behind(names, paper, ours, errors, [])
    assert claim.verdict == verdict
    assert "closer in 30 of 31" in claim.found
    assert f"DisCo at 150, {behind:+.2f} ± 0.04" in claim.found


@pytest.mark.parametrize(("higher", "verdict"), [(0.3, "yes"), (0.5, "**no**")])
def test_the_same_share_passes_to_twice_the_error_of_the_trainings(higher, verdict):
    chi2 = {"paper flow": 1.2 + 0 * TRAININGS, "ours": 1.2 + higher + TRAININGS / 10}
    table = Results(
        [
            row | {"family": name, "step": step, "chi2_merged": chi2[step][row["seed"]]}
            for name in ("vDNN", "DisCo")
            for step in chi2
            for row in results(10 * TRAININGS).rows
        ]
    )
    claim = _same_share_passes(table)
    assert claim.verdict == verdict
    error = np.std(TRAININGS, ddof=1) / 4**0.5  # of seeds, which all points have in common
    assert f"our splines {1.2 + higher:.2f} ± {error / 10:.2f}" in claim.found
    assert f"{higher:+.2f} ± {error / 10:.2f}, and ours is the lower one in 0 of 2" in claim.found
    assert claim.found.count(f"0.60 ± {error / 10:.2f}") == 2
