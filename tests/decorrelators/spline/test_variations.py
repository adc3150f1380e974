"""The error of the map as models: what they hold, and that they are models like others."""

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import unsculpt as us
from unsculpt.cli import app
from unsculpt.datasets import toys
from unsculpt.decorrelators.base import varied
from unsculpt.export import to_correctionlib, to_onnx
from unsculpt.files import create, scan

run = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(3_000, 0, seed=1)


@pytest.fixture(scope="module")
def spline(toy):
    fitted = us.SplineDecorrelator().fit(toy.score, toy.protected)
    fitted.source_ = {"score": ["tagger"], "protected": ["mass"]}
    return fitted


@pytest.fixture(scope="module")
def four(spline):
    return varied(spline, 4)


@pytest.fixture(scope="module")
def file(spline, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "w.unsculpt"
    spline.save(path)
    return path


def shifts(pairs, score, protected):
    """Half the way from down to up, (pairs, events): free of the curvature of the map."""
    found = []
    while pairs:  # a model that was used keeps its table
        up, down = (model.transform(score, protected) for model in pairs.pop(0))
        found.append((up - down) / 2)
    return np.array(found)


@pytest.mark.slow
def test_squared_shifts_sum_to_that_of_the_uncertainty(spline, toy):
    pairs = spline.variations(60)
    share = [up.share_ for up, _ in pairs]
    assert np.all(np.diff(share) <= 0)
    assert 0.97 < sum(share) < 1
    bulk = np.abs(spline.transform(toy.score, toy.protected) - 0.5) < 0.45
    score, mass = toy.score[bulk], toy.protected[bulk]
    total = np.sqrt((shifts(pairs, score, mass) ** 2).sum(axis=0))
    ratio = total / spline.uncertainty(score, mass)
    assert np.all(np.abs(np.quantile(ratio, [0.01, 0.99]) - 1) < 0.05)


@pytest.mark.parametrize("number", [0, -1, 1.5, "3", True, 10**6])
def test_how_many_is_a_whole_number(spline, number):
    with pytest.raises((TypeError, ValueError), match="n is"):
        spline.variations(number)


def test_directions_are_independent(spline, toy):
    """Over the masses of the events, and over arcsin √F."""
    angle, mass = np.meshgrid(np.linspace(0.06, 1.5, 25), toy.protected[:300])
    level = np.sin(angle.ravel()) ** 2
    score = spline.inverse_transform(level, mass.ravel())
    moved = shifts(spline.variations(4), score, mass.ravel()) / np.sqrt(level * (1 - level))
    products = moved @ moved.T
    size = np.sqrt(np.diag(products))
    assert np.abs(products / np.outer(size, size) - np.eye(4)).max() < 0.2
    alone = shifts(spline.variations(1), score, mass.ravel())
    again = moved[:1] * np.sqrt(level * (1 - level))
    np.testing.assert_allclose(alone, again, rtol=0, atol=1e-6)


def test_maps_stay_maps(four, toy):
    """In order, in [0, 1], also where an error is larger than what is left of the tail."""
    mass = np.quantile(toy.protected, [0, 0.3, 1])
    scores = np.linspace(toy.score.min() - 1, toy.score.max() + 1, 2_000)
    for model in four.values():
        for m in mass:
            flat = model.transform(scores, np.full(len(scores), m))
            assert np.all(np.diff(flat) >= 0)
            assert flat[0] >= 0
            assert flat[-1] <= 1
        cut = model.threshold(0.1, mass)
        np.testing.assert_allclose(model.transform(cut, mass), 0.9, rtol=0, atol=1e-9)


def test_up_and_down_lie_on_either_side(four, toy):
    nominal, up, down = (
        four[name].transform(toy.score, toy.protected) for name in ("nominal", "up_1", "down_1")
    )
    moved = np.abs(up - nominal) > 1e-4
    assert moved.mean() > 0.3
    assert np.all((up - nominal)[moved] * (down - nominal)[moved] < 0)


def test_a_file_keeps_a_variation(four, toy, tmp_path):
    four["up_2"].save(tmp_path / "up.unsculpt")
    loaded = us.load(tmp_path / "up.unsculpt")
    expected = four["up_2"].transform(toy.score, toy.protected)
    assert np.array_equal(loaded.transform(toy.score, toy.protected), expected)
    assert not np.array_equal(expected, four["nominal"].transform(toy.score, toy.protected))
    assert loaded.share_ == four["up_2"].share_


def test_the_nominal_map_stays(spline, toy):
    before = spline.transform(toy.score, toy.protected)
    (up, _), *_ = spline.variations(2)
    assert spline.share_ is None
    assert np.array_equal(spline.transform(toy.score, toy.protected), before)
    # Who adds events to a variation has a fit of all of them, not an old error.
    up.partial_fit(toy.score[:100], toy.protected[:100])
    spline_of_both = spline + spline.empty().partial_fit(toy.score[:100], toy.protected[:100])
    expected = spline_of_both.transform(toy.score, toy.protected)
    assert np.array_equal(up.transform(toy.score, toy.protected), expected)
    assert up.share_ is None


@pytest.mark.slow
def test_two_attributes():
    toy = toys.two_attributes(400, 0, seed=1)
    spline = us.SplineDecorrelator().fit(toy.score, toy.protected)
    pairs = spline.variations(4)
    share = sum(up.share_ for up, _ in pairs)
    held = (shifts(pairs, toy.score, toy.protected) ** 2).sum(axis=0)
    variance = spline.uncertainty(toy.score, toy.protected) ** 2
    assert np.all(held < 1.1 * variance)
    assert held.sum() / variance.sum() == pytest.approx(share, abs=0.15)


def test_several_scores_and_categories():
    random = np.random.default_rng(0)
    era = random.integers(3, size=1_000)
    scores = random.normal(0.5 * era[:, None] * [1, -1])
    spline = us.SplineDecorrelator(categorical=[0]).fit(scores, era)
    nominal = spline.transform(scores, era)
    moved = [up.transform(scores, era) - nominal for up, _ in spline.variations(6)]
    one_each = [sorted(np.abs(shift).max(axis=0) > 0) for shift in moved]
    assert one_each == [[False, True]] * 6
    assert {int(np.abs(shift).max(axis=0).argmax()) for shift in moved} == {0, 1}
    ((first, _),) = spline.variations(1)  # the other score has none
    assert np.allclose(first.transform(scores, era) - nominal, moved[0], atol=1e-8)


@pytest.mark.slow
def test_a_chain_moves_its_last_step(toy, tmp_path):
    chain = us.DDTDecorrelator().fit(toy.score, toy.protected).then(us.SplineDecorrelator())
    chain.fit(toy.score, toy.protected)
    ((up, down),) = chain.variations(1)
    up.save(tmp_path / "up.unsculpt")
    moved = us.load(tmp_path / "up.unsculpt").transform(toy.score, toy.protected)
    assert np.array_equal(moved, up.transform(toy.score, toy.protected))
    assert np.abs(moved - down.transform(toy.score, toy.protected)).mean() > 1e-4


def test_a_method_without_any_says_so(toy):
    knn = us.KNNDecorrelator().fit(toy.score, toy.protected)
    with pytest.raises(ValueError, match="a KNNDecorrelator has no variations; a SplineDecorr"):
        knn.variations(1)


def test_onnx(four, spline, toy, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    to_onnx(spline, tmp_path / "w.onnx", variations=4)
    session = onnxruntime.InferenceSession(tmp_path / "w.onnx")
    assert [output.name for output in session.get_outputs()] == list(four)
    outputs = session.run(None, {"tagger": toy.score, "mass": toy.protected})
    for model, output in zip(four.values(), outputs, strict=True):
        expected = model.transform(toy.score, toy.protected)
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-9)


def test_correctionlib(four, spline, toy, tmp_path):
    correctionlib = pytest.importorskip("correctionlib")
    to_correctionlib(spline, tmp_path / "w.json", variations=4, tolerance=1e-2)
    flat = correctionlib.CorrectionSet.from_file(str(tmp_path / "w.json"))["flat"]
    nominal = flat.evaluate(toy.score, toy.protected, "nominal")
    exact = spline.transform(toy.score, toy.protected)
    for name, model in four.items():
        given = flat.evaluate(toy.score, toy.protected, name)
        expected = model.transform(toy.score, toy.protected)
        assert np.abs(given - expected).max() < 1e-2
        # All have the same grid, so a shift is better than the tolerance.
        assert np.abs((given - nominal) - (expected - exact)).max() < 2e-3


def test_export_on_the_command_line(file, tmp_path):
    output = tmp_path / "w.json"
    result = run(app, ["export", str(file), "-o", str(output), "--variations", "1"])
    assert result.exit_code == 0, result.output
    (correction,) = json.loads(output.read_text())["corrections"]
    assert [x["name"] for x in correction["inputs"]] == ["tagger", "mass", "variation"]
    result = run(app, ["export", str(file), "-o", str(tmp_path / "w.pt"), "--variations", "4"])
    assert result.exit_code == 2
    assert "write .hpp, .onnx or .json" in result.output


def test_apply_on_the_command_line(file, four, toy, tmp_path):
    events = pa.table({"tagger": toy.score[:500], "mass": toy.protected[:500]})
    with create(tmp_path / "a.parquet", events.schema) as put:
        put(events)
    output = tmp_path / "b.parquet"
    arguments = [str(tmp_path / "a.parquet"), "-o", str(output), "--variations", "4"]
    result = run(app, ["apply", str(file), *arguments])
    assert result.exit_code == 0, result.output
    table = pa.concat_tables(scan(output).chunks())
    names = ["tagger_flat", *(f"tagger_flat_{name}" for name in list(four)[1:])]
    assert table.column_names == ["tagger", "mass", *names]
    for name, model in zip(names, four.values(), strict=True):
        expected = model.transform(toy.score[:500], toy.protected[:500])
        assert np.array_equal(table[name].to_numpy(), expected)


@pytest.mark.parametrize("command", ["apply", "export"])
def test_none_to_write(command, toy, tmp_path):
    knn = us.KNNDecorrelator().fit(toy.score, toy.protected)
    knn.source_ = {"score": ["tagger"], "protected": ["mass"]}
    knn.save(tmp_path / "knn.unsculpt")
    events = pa.table({"tagger": toy.score[:50], "mass": toy.protected[:50]})
    with create(tmp_path / "a.parquet", events.schema) as put:
        put(events)
    before = sorted(tmp_path.iterdir())
    given = [str(tmp_path / "a.parquet")] if command == "apply" else []
    output = f"{tmp_path}/out/" if command == "apply" else str(tmp_path / "w.onnx")
    arguments = [command, str(tmp_path / "knn.unsculpt"), *given, "-o", output]
    result = run(app, [*arguments, "--variations", "2"])
    assert result.exit_code == 1
    assert "a KNNDecorrelator has no variations" in result.output
    assert sorted(tmp_path.iterdir()) == before
