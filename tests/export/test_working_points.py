import gzip

import numpy as np
import pytest

correctionlib = pytest.importorskip("correctionlib")

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_working_points
from unsculpt.export.boxes import LEAF, halved


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
    np.testing.assert_allclose(kept, 0.05, rtol=1e-2)
    assert (tmp_path / "cuts.json").stat().st_size < 2.5e6


@pytest.mark.slow
def test_of_networks_and_categories(channels, tmp_path):
    cuts = cuts_of(channels.model, tmp_path, [0.1])["cut"]
    some = {name: column[:200] for name, column in channels.protected.items()}
    events = zip(some["mass"], some["channel"], some["year"], strict=True)
    found = [cuts.evaluate("0.1", m, str(c), int(y)) for m, c, y in events]
    import pandas as pd

    kept = 1 - channels.model.transform(found, pd.DataFrame(some))
    np.testing.assert_allclose(kept, 0.1, rtol=1e-2)


def test_a_cut_at_an_atom_is_that_number(tmp_path):
    """One digit less, and `score > cut` would keep a third of all events instead of none."""
    rng = np.random.default_rng(1)
    mass, atom = rng.uniform(50, 300, 3_000), 1 / 3
    score = np.minimum(rng.uniform(size=3_000), 0.7) / 0.7 * atom
    model = us.SplineDecorrelator().fit(score, mass)
    cut = cuts_of(model, tmp_path, [0.1])["cut"].evaluate("0.1", mass)
    np.testing.assert_allclose(cut, atom, rtol=4e-16)


def test_compressed(smooth, tmp_path):
    model, toy = smooth
    plain, compressed = tmp_path / "cuts.json", tmp_path / "cuts.json.gz"
    for path in (plain, compressed):
        to_working_points(model, path, [0.1])
    assert gzip.decompress(compressed.read_bytes()) == plain.read_bytes()
    cuts = correctionlib.CorrectionSet.from_file(str(compressed))["cut"]
    assert np.isfinite(cuts.evaluate("0.1", toy.protected)).all()


@pytest.mark.parametrize(
    ("limit", "problem"),
    [("coordinates.LARGEST", "end its name in .json.gz"), ("working_points.MOST", "too sharply")],
)
def test_what_is_too_large_is_refused(smooth, limit, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(f"unsculpt.export.{limit}", 100)
    with pytest.raises(ValueError, match=problem):
        to_working_points(smooth[0], tmp_path / "cuts.json", [0.1])
    assert not list(tmp_path.iterdir())


class TestBoxes:
    """Of a function whose bend is a hundredth of the range."""

    def bend(self, x):
        return np.log1p(np.exp(200 * (x - 0.3)))

    def bounds(self, points):
        value = self.bend(points[:, 0]) + points.sum(axis=1)
        return value, value - 0.1, value + 0.2

    @pytest.mark.parametrize("axes", [1, 2])
    def test_lines_keep_to_the_bounds(self, axes):
        boxes = halved(axes, self.bounds, 2_000)
        low, width = (x[boxes.axis == LEAF] for x in (boxes.low, boxes.width))
        assert width.prod(axis=1).sum() == 2**axes
        at = np.random.default_rng(1).uniform(-1, 1, (5_000, axes))
        share = (at[:, None] - low) / width
        which = ((share >= 0) & (share < 1)).all(axis=2).argmax(axis=1)
        share = share[np.arange(len(at)), which]
        found = boxes.corners[boxes.axis == LEAF][which]
        for x in share.T:
            x = x.reshape(-1, *(found.ndim - 2) * [1])
            found = (1 - x) * found[:, 0] + x * found[:, 1]
        _, least, largest = self.bounds(at)
        assert ((least <= found) & (found <= largest)).all()
        # Only along the first axis, and there where it bends.
        assert set(boxes.axis[-50:]) <= {0, LEAF}

    def test_no_more_than_so_many(self):
        assert halved(2, self.bounds, 400) is None


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


def test_nan_has_no_cut(tmp_path):
    """Where the cut does not depend on the attribute too."""
    mass = np.linspace(50, 300, 2_000)
    score = np.minimum(np.random.default_rng(1).uniform(size=2_000), 0.7)
    model = us.SplineDecorrelator(outside="clip").fit(score, mass)
    cuts = cuts_of(model, tmp_path, [0.1, 0.5])["cut"]
    for efficiency in ("0.1", "0.5"):
        assert np.isnan(cuts.evaluate(efficiency, np.nan))
        beyond = cuts.evaluate(efficiency, np.array([40.0, 50.0, 300.0, 310.0, np.inf]))
        np.testing.assert_allclose(beyond, beyond[[1, 1, 2, 2, 2]], rtol=1e-12)
