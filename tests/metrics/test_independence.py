"""A verdict on a selection, held against scipy and against chance."""

import re

import numpy as np
import pytest
from scipy import stats

from unsculpt.metrics import flatness_test
from unsculpt.metrics.independence import chi2_survival


def background(n, seed):
    random = np.random.default_rng(seed)
    return random.exponential(50, n), random.random(n), random


@pytest.mark.parametrize("degrees", [1, 2, 3, 49, 50, 441])
def test_survival_is_that_of_scipy(degrees):
    for chi2 in (0.1 * degrees, degrees, 1.5 * degrees, 3 * degrees):
        expected = stats.chi2.sf(chi2, degrees)
        assert chi2_survival(chi2, degrees) == pytest.approx(expected, rel=1e-9)
    assert chi2_survival(0, degrees) == 1


def test_without_weights_it_is_the_test_of_a_contingency_table():
    _, score, random = background(5000, 1)
    era = random.integers(4, size=5000)
    slices = np.digitize(score + 0.02 * era, [0.3, 0.8])
    table = np.histogram2d(era, slices, [np.arange(5), np.arange(4)])[0]
    found, expected = flatness_test(slices, era), stats.chi2_contingency(table)
    assert found.chi2 == pytest.approx(expected.statistic, rel=1e-6)
    assert (found.degrees, found.p_value) == (expected.dof, pytest.approx(expected.pvalue))


def weights(case, score, random):
    n = len(score)
    return {
        "none": None,
        "uneven": random.exponential(1, n),
        "of both signs": np.where(random.random(n) < 0.2, -1.0, 1.0),
        "that know the score": 1 + 3 * score,
    }[case]


@pytest.mark.parametrize(
    "case", ["none", "uneven", "of both signs", "that know the score", "two", "slices"]
)
def test_p_values_of_independent_selections_are_uniform(case):
    values = []
    for seed in range(300):
        mass, score, random = background(4000, seed)
        weight = None if case in ("two", "slices") else weights(case, score, random)
        protected = np.column_stack([mass, mass + random.normal(size=4000)])
        test = flatness_test(
            (5 * score).astype(int) if case == "slices" else score > 0.8,
            protected if case == "two" else mass,
            sample_weight=weight,
        )
        values.append(test.p_value)
    assert stats.kstest(values, "uniform").pvalue > 1e-3


def test_a_weight_of_two_is_no_two_events():
    mass, score, _ = background(5000, 2)
    once = flatness_test(score > 0.8, mass)
    twice = flatness_test(score > 0.8, mass, sample_weight=np.full(5000, 2.0))
    assert twice.chi2 == pytest.approx(once.chi2)


def test_says_where_a_selection_is_sculpted():
    mass, score, random = background(50_000, 3)
    era = np.array(["a", "b"])[random.integers(2, size=50_000)]
    bump = 0.1 * ((np.abs(mass - 80) < 10) & (era == "b"))
    found = flatness_test(score + bump > 0.9, {"era": era, "mass": mass})
    assert found.p_value < 1e-9
    assert found.pull > 5
    low, high = found.worst["mass"]
    assert found.worst["era"] == ("b", "b")
    assert 65 < low < high < 95


@pytest.mark.parametrize("share", [0.015, 0.4])
def test_every_category_has_a_cell(share):
    random = np.random.default_rng(6)
    first = random.random(20_000) < share
    selected = random.random(20_000) < np.where(first, 0.95, 0.5)
    for protected in (first, np.where(first, "a", "b"), first.astype(object)):
        found = flatness_test(selected, protected)
        assert found.degrees == 1
        assert found.p_value < 1e-9


def test_a_category_leaves_most_cells_to_the_mass():
    mass, score, random = background(20_000, 8)
    era = random.choice(["a", "b"], len(mass))
    narrow = (mass > np.quantile(mass, 0.5)) & (mass < np.quantile(mass, 0.56))
    found = flatness_test(score + 0.2 * narrow > 0.8, {"mass": mass, "era": era})
    assert found.degrees == 49  # of two eras in 25 intervals each
    assert found.p_value < 1e-6


def test_a_cell_without_weight_is_none():
    mass, score, _ = background(10_000, 7)
    weight = (mass > 20).astype(float)
    found = flatness_test(score > 0.8, mass, sample_weight=weight)
    left = flatness_test(score[mass > 20] > 0.8, mass[mass > 20])
    assert found.chi2 == pytest.approx(left.chi2)


def test_one_of_many_attributes_is_found():
    random = np.random.default_rng(8)
    many = random.random((20_000, 10))
    score = random.random(20_000)
    found = flatness_test(score + 0.1 * many[:, 7] > 0.95, many)
    assert found.p_value < 1e-6
    low, high = found.worst["protected[:, 7]"]
    assert high - low < 0.1
    assert flatness_test(score > 0.9, many).p_value > 1e-3


def test_words_for_a_reader():
    mass, score, random = background(20_000, 3)
    era = random.integers(2, size=20_000)
    assert "flat within the statistics of 20,000 events (χ²" in flatness_test(
        score > 0.9, mass
    ).verdict(20_000)
    sculpted = {"era": np.array(["a", "b"])[era], "mass": mass}
    words = flatness_test(score > 0.9 + 0.05 * era, sculpted).verdict(20_000)
    assert re.match(r"not flat: χ² [\d.]+ for \d+, p = .*, worst at era [ab], mass \d", words)
    assert re.search(r"where too (many|few) pass by [\d.]+ errors$", words)
    # Too few events for a cell each: categories share one.
    many = {"era": np.array([f"run {i:03}" for i in range(500)])[random.integers(500, size=20_000)]}
    assert " to run " in flatness_test(score > 0.9, many).where


def test_two_attributes_find_what_one_does_not():
    mass, score, random = background(40_000, 4)
    pt = random.random(40_000)
    selected = score + 0.1 * np.sign((mass > 35) - 0.5) * np.sign(pt - 0.5) > 0.8
    assert flatness_test(selected, mass).p_value > 1e-3
    assert flatness_test(selected, np.column_stack([mass, pt])).p_value < 1e-9


def test_cells_hold_enough_events():
    mass, score, _ = background(10_000, 5)
    assert flatness_test(score > 0.5, mass).degrees == 49
    assert flatness_test(score > 0.99, mass).degrees == pytest.approx(3, abs=1)
    assert flatness_test(score > 0.5, mass, cells=10).degrees == 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selected": np.ones(1000, bool)}, "selected is True in all 1,000 events"),
        ({"selected": np.arange(1000) < 20}, "20 are in the smallest part; expected at least 50"),
        ({"selected": np.ones(10, bool)}, "protected has 1,000 events but selected has 10"),
        ({"selected": np.random.default_rng(0).random(1000)}, "holds float64 values"),
        ({"protected": np.ones(1000)}, "cannot be divided into two parts"),
        ({"sample_weight": -np.ones(1000)}, "sample_weight sums to -1000"),
        ({"cells": 1}, "cells is 1; expected a whole number of at least 2"),
        ({"protected": [np.nan] * 1000}, "protected is NaN or infinite in 1,000 of 1,000"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"selected": np.arange(1000) % 2 == 0, "protected": np.arange(1000.0)} | change
    with pytest.raises(ValueError, match=message):
        flatness_test(**given)
