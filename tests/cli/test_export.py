import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from unsculpt import FlowDecorrelator
from unsculpt.classifiers import Classifier
from unsculpt.cli import app
from unsculpt.datasets import toys

run = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    toy = toys.smooth(500, 0, seed=1)
    path = tmp_path_factory.mktemp("model") / "model.unsculpt"
    FlowDecorrelator(members=1, epochs=1).fit(toy.score, toy.protected).save(path)
    return str(path)


@pytest.mark.parametrize(
    ("ending", "package"),
    [("onnx", "onnx"), ("json", "json"), ("json.gz", "json"), ("pt", "torch")],
)
def test_format_by_ending(model, tmp_path, ending, package):
    pytest.importorskip(package)
    output = tmp_path / f"model.{ending}"
    result = run(app, ["export", model, "-o", str(output)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert str(output) in result.output
    assert list(tmp_path.iterdir()) == [output]


def test_the_ending_may_be_in_capitals(model, tmp_path):
    output = tmp_path / "model.JSON"
    assert run(app, ["export", model, "-o", str(output)]).exit_code == 0
    assert "corrections" in json.loads(output.read_text())


def test_another_ending_is_refused_before_anything_is_loaded():
    code = (
        "import sys; from unsculpt.cli import app\n"
        "try: app(['export', 'no.unsculpt', '-o', 'model.root'])\n"
        "except SystemExit as stop: print(stop.code, 'jax' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["2", "False"]
    result = run(app, ["export", "no.unsculpt", "-o", "model.root"])
    assert "should end in .hpp or .onnx or .json or .json.gz or .pt" in " ".join(
        result.output.split()
    )


def test_a_missing_package_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = run(app, ["export", model, "-o", str(tmp_path / "model.onnx")])
    assert result.exit_code == 1
    assert "pip install 'unsculpt[onnx]'" in result.output
    assert not list(tmp_path.iterdir())


def test_a_missing_model_is_named(tmp_path):
    result = run(app, ["export", str(tmp_path / "no.unsculpt"), "-o", "model.json"])
    assert result.exit_code == 1
    assert "there is no model file" in result.output


def test_a_classifier_alone_is_refused(tmp_path):
    path = tmp_path / "classifier.unsculpt"
    Classifier(hidden=(4,), epochs=1).fit([[0.0], [1.0]] * 10, [0, 1] * 10).save(path)
    result = run(app, ["export", str(path), "-o", str(tmp_path / "model.json")])
    assert result.exit_code == 1
    assert "a Classifier cannot be exported" in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_answers_scripts(model, tmp_path):
    output = tmp_path / "model.json"
    answer = json.loads(run(app, ["export", model, "-o", str(output), "--json"]).stdout)
    assert answer == {"file": str(output), "bytes": output.stat().st_size}
    result = run(app, ["export", model, "-o", str(output), "--quiet"])
    assert (result.exit_code, result.output) == (0, "")
