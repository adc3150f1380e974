"""Moved scores in files for other programs, against Python; C++ is in test_cpp.py."""

import warnings

import numpy as np
import pytest

import unsculpt as us
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.draws import Draws
from unsculpt.export import to_correctionlib, to_onnx
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


def test_a_spike_is_scattered(spline, events, tmp_path):
    model = us.Moved(spline, to={"sample": "data"}, seed=3)
    score, table = events[0].copy(), events[1]
    score[::50] = -np.linspace(0.1, 1, 20)  # beyond the fit, whose end the spike is
    rows = np.flatnonzero(score == 0)
    random = np.full(1_000, 0.99)  # it touches no event beside the spike
    random[rows] = Draws.of_events(3, score[:, None], spline.attributes_, table).uniform(rows, 0)
    columns = {"score": score, **table, "random_0": random}
    (found,) = run(model, columns, tmp_path)
    np.testing.assert_allclose(found, moved(model, (score, table)), rtol=1e-8, atol=1e-8)


def test_no_random_numbers_and_nowhere(spline, events, tmp_path):
    with pytest.raises(ValueError, match="draws no random numbers"):
        to_correctionlib(us.Moved(spline, {"sample": "data"}, seed=1), tmp_path / "moved.json")
    spline = us.SplineDecorrelator(outside="nan").fit(events[0], events[1]["mass"])
    model = us.Moved(spline, to=5000.0)
    with pytest.warns(UserWarning, match="all scores become NaN"):
        to_correctionlib(model, tmp_path / "moved.json")
    correctionlib = pytest.importorskip("correctionlib")
    flat = correctionlib.CorrectionSet.from_file(str(tmp_path / "moved.json"))["flat"]
    assert np.isnan(flat.evaluate(0.5, 100.0))


@pytest.mark.parametrize(
    ("name", "to"),
    [("two_scores", {0: 0.5}), ("channels", {"mass": 90.0}), ("quantile_spline", {"mass": 90.0})],
)
def test_networks_are_inverted(name, to, request, tmp_path):
    """Of several attributes there is no table: a program finds where each event has its level."""
    case = request.getfixturevalue(name)
    there = case._replace(model=us.Moved(case.model, to=to))
    scores, protected = case.hard_events(2_000)
    found, want = run(there.model, scores | protected, tmp_path), there.transform(scores, protected)
    size = np.array([[np.ptp(cdf.range)] for cdf in case.model.cdfs_])
    np.testing.assert_allclose(found / size, want / size, rtol=0, atol=1e-3)
    # Next to 0 and 1 a level is rounded, and there a little of it is a long way.
    level = case.transform(scores, protected)
    off = np.abs(found - want)[(level > 1e-6) & (level < 1 - 1e-6)]
    assert off.max() < 1e-6


def run(model, columns, folder):
    """What onnxruntime gives."""
    onnxruntime = pytest.importorskip("onnxruntime")
    to_onnx(model, folder / "model.onnx")
    return onnxruntime.InferenceSession(folder / "model.onnx").run(None, columns)


def two_variables(events, seed):
    """Another variable, and the score with its spike, which knows it."""
    score, table = draw(events, seed)
    first = np.random.default_rng(seed).normal(table["sample"] == "data")
    return np.column_stack([first, score * np.exp(first / 4)]), table


def columns_of(x, table):
    """What a program of a morphing takes, with the random numbers that Python has."""
    attributes = ProtectedAttributes.learn(table, np.ones(len(x)), ["sample"])
    random, rows = np.full(len(x), 0.5), np.flatnonzero(x[:, 1] == 0)
    random[rows] = Draws.of_events(0, x, attributes, table).uniform(rows, 1)
    scores = {"score_0": x[:, 0], "score_1": x[:, 1]}
    return {**scores, **table, "random_1": random}


@pytest.fixture(scope="module", params=["spline", "flow"])
def morphing(request):
    """Two variables; by splines without the mass, of which they take one attribute less."""
    x, table = two_variables(2_000, 3)
    if request.param == "flow":
        flow = us.FlowDecorrelator(members=2, epochs=2)
        return us.Morphing(flow, {"sample": "data"}).fit(x, table)
    own = Columns(sample=table["sample"])
    return us.Morphing(us.SplineDecorrelator(), {"sample": "data"}).fit(x, own)


@pytest.fixture
def to_morph(morphing):
    """Events as Python takes them, and as a program does."""
    x, table = two_variables(1_000, 4)
    x[:4], x[:4, 1] = [[-9, 0], [9, 0], [0, 0], [0, 0]], [-1, 1e3, 0, 1e-9]
    if morphing.attributes_.names == ["sample"]:
        table = Columns(sample=table["sample"])
    return (x, table), columns_of(x, table)


def test_a_chain_of_variables(morphing, to_morph, tmp_path):
    events, columns = to_morph
    found = np.column_stack(run(morphing, columns, tmp_path))
    want = moved(morphing, events)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-8)
    data = events[1]["sample"] == "data"
    assert np.array_equal(found[data], events[0][data])
    spike = ~data & (events[0][:, 1] == 0)
    assert 0.5 < np.mean(want[spike, 1] == 0) < 1  # of 0.4 in simulation, 0.3 in data


def test_folds_share_their_random_numbers(tmp_path):
    x, table = two_variables(600, 5)
    own = Columns(sample=table["sample"])
    morphing = us.Morphing(us.SplineDecorrelator(), {"sample": "data"})
    folds = us.CrossFit(morphing, folds=2).fit(x, own)
    columns = columns_of(x, own)
    fold = np.arange(600) % 2
    found = run(folds, columns | {"fold": fold.astype(float)}, tmp_path)
    want = folds.transform(x, own, fold=fold)
    np.testing.assert_allclose(np.column_stack(found), want, rtol=0, atol=1e-8)


def test_correctionlib_takes_no_chain_of_variables(morphing, tmp_path):
    with pytest.raises(ValueError, match="correctionlib needs a conditional CDF in a table"):
        to_correctionlib(morphing, tmp_path / "m.json")
