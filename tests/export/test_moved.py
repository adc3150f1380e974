"""Moved scores in files for other programs, against Python; C++ is in test_cpp.py."""

import warnings

import numpy as np
import pytest

import unsculpt as us
from unsculpt.export import to_correctionlib, to_cpp, to_onnx
from unsculpt.inputs import Columns

EVENTS = 4_000
PLACES = [{"sample": "data"}, {"mass": 100.0}, {"mass": 100.0, "sample": "data"}, "barycentre"]


def draw(events, seed):
    """A score with a spike at zero, in two samples, that grows with the mass."""
    rng = np.random.default_rng(seed)
    sample, mass = rng.choice(["data", "simulation"], events), rng.uniform(50, 150, events)
    spike = rng.uniform(size=events) < np.where(sample == "data", 0.3, 0.4)
    wide = np.where(sample == "data", 2.0, 1.0) * mass / 100
    return np.where(spike, 0, rng.exponential(wide)), Columns(mass=mass, sample=sample)


@pytest.fixture(scope="module")
def spline():
    return us.SplineDecorrelator(categorical=["sample"]).fit(*draw(EVENTS, 1))


@pytest.fixture(scope="module")
def events():
    """Among them scores and masses beyond those of the fit."""
    score, table = draw(1_000, 2)
    score[:6], table["mass"][:6] = [-5, 50, 0, 1e-9, 3, 3], [60, 140, 50, 149, 10, 900]
    return score, table


def moved(model, events):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.transform(*events)


@pytest.mark.parametrize("to", PLACES)
def test_onnx(spline, events, to, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = us.Moved(spline, to=to, amount=0.7)
    to_onnx(model, tmp_path / "moved.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "moved.onnx")
    (found,) = session.run(None, {"score": events[0], **events[1]})
    np.testing.assert_allclose(found, moved(model, events), rtol=1e-8, atol=1e-8)


def evaluated(model, events, folder):
    """What the file of correctionlib gives, event by event, as text goes in."""
    correctionlib = pytest.importorskip("correctionlib")
    to_correctionlib(model, folder / "moved.json")
    flat = correctionlib.CorrectionSet.from_file(str(folder / "moved.json"))["flat"]
    rows = zip(events[0], events[1]["mass"], events[1]["sample"], strict=True)
    return np.array([flat.evaluate(float(s), float(m), str(k)) for s, m, k in rows])


@pytest.mark.parametrize("to", PLACES[::2])
def test_correctionlib(spline, events, to, tmp_path):
    model = us.Moved(spline, to=to, amount=0.7)
    off = np.abs(evaluated(model, events, tmp_path) - moved(model, events))
    assert np.mean(off <= 0.01 * np.ptp(spline.cdfs_[0].range)) > 0.99


def test_correctionlib_keeps_the_level(spline, events, tmp_path):
    there = {"mass": 100.0, "sample": "data"}
    model = us.Moved(spline, to=there)
    scores = evaluated(model, events, tmp_path), moved(model, events)
    table = Columns(mass=np.full(1_000, 100.0), sample=np.full(1_000, "data"))
    level, exact = (spline.transform(score, table) for score in scores)
    off = np.abs(scores[0] - scores[1]) <= 0.01 * np.ptp(spline.cdfs_[0].range)
    assert np.all(off | (np.abs(level - exact) <= 0.01))


def test_no_random_numbers_and_nowhere(spline, events, tmp_path):
    with pytest.raises(ValueError, match="no random numbers"):
        to_correctionlib(us.Moved(spline, {"sample": "data"}, seed=1), tmp_path / "moved.json")
    spline = us.SplineDecorrelator(outside="nan").fit(events[0], events[1]["mass"])
    model = us.Moved(spline, to=5000.0)
    with pytest.warns(UserWarning, match="all scores become NaN"):
        to_correctionlib(model, tmp_path / "moved.json")
    correctionlib = pytest.importorskip("correctionlib")
    flat = correctionlib.CorrectionSet.from_file(str(tmp_path / "moved.json"))["flat"]
    assert np.isnan(flat.evaluate(0.5, 100.0))


def test_a_flow_of_several_attributes_keeps_none(two_scores, tmp_path):
    model = us.Moved(two_scores.model, to={0: 0.5})
    with pytest.raises(ValueError, match="needs a table"):
        to_cpp(model, tmp_path / "moved.hpp")
