"""A verdict that knows the error of the map, against samples of known distribution."""

import re

import numpy as np
import pytest

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.common.judgement import CutTest
from unsculpt.metrics.independence import Deviations, FlatnessTest


@pytest.fixture(scope="module")
def spline():
    toy = toys.tagger(2_000, 0, seed=1)
    return us.SplineDecorrelator(outside="clip").fit(toy.score, toy.protected)


def test_deviations_sum_to_the_uncertainty(spline):
    mass = np.linspace(60, 150, 50)
    score = spline.threshold(0.3, mass)
    total = np.sqrt((spline.deviations(score, mass) ** 2).sum(axis=1))
    np.testing.assert_allclose(total, spline.uncertainty(score, mass), rtol=0.02)


def test_many_events_see_what_the_map_lacks(spline):
    toy = toys.tagger(60_000, 0, seed=2)
    kept = (toy.protected > 51) & (toy.protected < 200)
    score, mass = toy.score[kept], toy.protected[kept]
    flat = spline.transform(score, mass)
    test = CutTest({"mass": mass}, mass)
    judged = test(flat >= 0.5, spline, 0.5)
    assert judged.within_map
    assert judged.line(60_000).startswith("flat within the error of the map (χ² ")
    assert "fit on more background" in judged.line(60_000)
    assert judged.plain()["with_map"]["p_value"] > 0.01 > judged.plain()["p_value"]
    # What no error of the map explains stays what it is, and the line says that it was tried.
    raw = test(score >= 0.5, spline, 0.5)
    assert not raw.within_map
    assert raw.line(60_000).startswith("not flat")
    assert re.search(r"errors; with the error of the map p = .*e-\d\d$", raw.line(60_000))
    assert test(score >= 0.5).line(60_000).endswith("errors")


def test_without_error_of_the_map_nothing_changes():
    random = np.random.default_rng(1)
    mass, passing = random.random(5_000), random.random(5_000) < 0.3
    weight = random.choice([0, 1, 2], 5_000)
    test, some = FlatnessTest(mass, weight), np.arange(0, 5_000, 3)
    plain, exact = test(passing), test(passing, 50, Deviations(some, np.zeros((len(some), 4))))
    assert (exact.chi2, exact.degrees) == (pytest.approx(plain.chi2), plain.degrees)


def test_events_of_all_folds_are_looked_at():
    class Model:
        """Knows no error, and of which folds and masses it was asked."""

        models_, n_scores_, asked = (None,), 1, set()

        def threshold(self, efficiency, protected, *, fold):
            self.asked.update(zip(fold, np.floor(50 * protected).astype(int), strict=True))
            return np.zeros(len(protected))

        def deviations(self, scores, protected, *, fold):
            return np.zeros((len(scores), 2))

    mass, number = np.random.default_rng(1).random(40_000), np.arange(40_000)
    test = CutTest({"mass": mass}, mass, fold=number % 20)  # of rows, in the order of the file
    judged = test(mass > 0.5, Model())
    assert len(Model.asked) > 0.9 * 20 * 50  # each part of each fold
    assert judged.with_map.chi2 == pytest.approx(judged.statistics.chi2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:protected is outside")
@pytest.mark.parametrize("toy", [toys.smooth, toys.tagger])
def test_chi2_is_about_one_with_the_error_of_the_map_and_not_with_half_of_it(toy):
    per_degree, p_values = [], []
    for seed in range(10):
        train, test = toy(2_000, 0, seed=100 + seed), toy(8_000, 0, seed=seed)
        spline = us.SplineDecorrelator(outside="clip").fit(train.score, train.protected)
        flat, mass = spline.transform(test.score, test.protected), test.protected
        flatness, some = FlatnessTest(mass), np.arange(0, len(mass), 10)
        for cut in (0.5, 0.9):
            score = spline.inverse_transform(np.full(len(some), cut), mass[some])
            shifts = spline.deviations(score, mass[some])
            found = [flatness(flat >= cut, 50, Deviations(some, x * shifts)) for x in (1, 0.5, 0)]
            per_degree.append([f.chi2 / f.degrees for f in found])
            p_values.append(found[0].p_value)
    right, half, none = np.mean(per_degree, axis=0)
    assert right == pytest.approx(1, abs=0.09)
    assert 1.09 < half < none  # half of the error would fail the line above
    # Uniform: a mean of one half, and one in ten below 0.1.
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.13)
    assert np.mean(np.array(p_values) < 0.1) <= 0.2
