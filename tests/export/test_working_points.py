import numpy as np
import pytest

correctionlib = pytest.importorskip("correctionlib")

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_working_points


@pytest.fixture(scope="module")
def smooth():
    toy = toys.smooth(5_000, 0, seed=1)
    return us.SplineDecorrelator(outside="nan").fit(toy.score, toy.protected), toy


def cuts_of(model, folder, efficiencies, **options):
    path = folder / "cuts.json"
    to_working_points(model, path, efficiencies, **options)
    return correctionlib.CorrectionSet.from_file(str(path))


@pytest.mark.parametrize("efficiency", [0.5, 0.05, 0.01])
def test_keeps_the_efficiency_and_agrees_with_threshold(smooth, efficiency, tmp_path):
    model, toy = smooth
    cuts = cuts_of(model, tmp_path, [0.5, 0.05, 0.01])["cut"]
    cut = cuts.evaluate(f"{efficiency:g}", toy.protected)
    kept = 1 - model.transform(cut, toy.protected)
    np.testing.assert_allclose(kept, efficiency, rtol=1e-2)
    width = toy.score.max() - toy.score.min()
    np.testing.assert_allclose(cut, model.threshold(efficiency, toy.protected), atol=2e-3 * width)
    assert np.isnan(cuts.evaluate("0.5", toy.protected.max() + 1))
    assert (tmp_path / "cuts.json").stat().st_size < 1e6


@pytest.mark.slow
def test_of_two_attributes(tmp_path):
    toy = toys.two_attributes(20_000, 0, seed=1)
    model = us.SplineDecorrelator().fit(toy.score, toy.protected)
    cut = cuts_of(model, tmp_path, [0.05])["cut"].evaluate("0.05", *toy.protected.T)
    kept = 1 - model.transform(cut, toy.protected)
    np.testing.assert_allclose(kept, 0.05, rtol=2e-2)
    assert (tmp_path / "cuts.json").stat().st_size < 5e6


@pytest.mark.slow
def test_of_networks_and_categories(channels, tmp_path):
    cuts = cuts_of(channels.model, tmp_path, [0.1])["cut"]
    some = {name: column[:200] for name, column in channels.protected.items()}
    events = zip(some["mass"], some["channel"], some["year"], strict=True)
    found = [cuts.evaluate("0.1", m, str(c), int(y)) for m, c, y in events]
    import pandas as pd

    kept = 1 - channels.model.transform(found, pd.DataFrame(some))
    np.testing.assert_allclose(kept, 0.1, rtol=2e-2)


def test_an_efficiency_that_is_not_there(smooth, tmp_path):
    cuts = cuts_of(smooth[0], tmp_path, [0.5])["cut"]
    with pytest.raises(IndexError):
        cuts.evaluate("0.1", 100.0)


@pytest.mark.parametrize(
    ("efficiencies", "problem"), [([], "is empty"), ([1.5], "efficiency is 1.5")]
)
def test_bad_efficiencies(smooth, efficiencies, problem, tmp_path):
    with pytest.raises(ValueError, match=problem):
        to_working_points(smooth[0], tmp_path / "cuts.json", efficiencies)


def test_shifts_have_no_such_cuts(tmp_path):
    toy = toys.smooth(500, 0, seed=1)
    model = us.KNNDecorrelator().fit(toy.score, toy.protected)
    with pytest.raises(ValueError, match="has no cuts at several efficiencies"):
        to_working_points(model, tmp_path / "cuts.json", [0.1])
