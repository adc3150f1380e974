import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import unsculpt
import unsculpt.report
from unsculpt import datasets
from unsculpt.cli import app
from unsculpt.metrics import Interval
from unsculpt.report.summary import Numbers

demo = import_module("unsculpt.cli.demo")
NUMBERS = [Numbers("raw score", {"AUC": Interval(0.9, 0.8, 1.0)})]

run = CliRunner(env={"COLUMNS": "120", "TERM": "dumb"}).invoke


@pytest.fixture
def small(monkeypatch):
    """Makes the demo take a moment: fewer jets, no pictures in the report."""
    load_jets = datasets.load_jets

    def load_few(split):
        jets = load_jets(split)
        columns = ("features", "mass", "label", "weight")
        return replace(jets, **{name: getattr(jets, name)[::50] for name in columns})

    monkeypatch.setattr(datasets, "load_jets", load_few)
    monkeypatch.setattr("unsculpt.report.write.pictures", lambda *events: [])


def test_help_names_the_command():
    result = run(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
    assert run(app, ["demo", "--help"]).exit_code == 0


def test_table_report_and_figure(small, tmp_path):
    report, figure = tmp_path / "demo.html", tmp_path / "figure.png"
    options = ["--output", str(report), "--figure", str(figure)]
    result = run(app, ["demo", *options], catch_exceptions=False)
    assert result.exit_code == 0
    for word in ("R50", "1/JSD50", "ideal", "AUC", "raw", "decorrelated score is", "±"):
        assert word in result.output
    assert result.output.endswith(f"Open the report: {report}\n")
    assert "<h1>W tagger decorrelated from mass</h1>" in report.read_text()
    assert figure.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert sorted(tmp_path.iterdir()) == [report, figure]


def test_for_scripts(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "_work", lambda *arguments: NUMBERS)
    report = tmp_path / "demo.html"
    answer = json.loads(run(app, ["demo", "--output", str(report), "--json"]).stdout)
    assert answer["report"] == str(report)
    assert answer["numbers"] == [
        {"score": "raw score", "AUC": {"value": 0.9, "low": 0.8, "high": 1.0}, "flatness": None}
    ]


def test_it_says_nothing_when_told_so(small, tmp_path, monkeypatch):
    monkeypatch.setattr(unsculpt.report, "write_report", lambda *events, **settings: NUMBERS)
    result = run(app, ["demo", "--output", str(tmp_path / "demo.html"), "--quiet"])
    assert (result.exit_code, result.output) == (0, "")


def test_a_failure_keeps_the_older_figure(small, tmp_path, monkeypatch):
    def stop_half_way(self, path, **options):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", stop_half_way)
    monkeypatch.setattr(unsculpt.report, "write_report", lambda *events, **settings: NUMBERS)
    figure = tmp_path / "figure.png"
    figure.write_bytes(b"older")
    options = ["--output", str(tmp_path / "demo.html"), "--figure", str(figure)]
    result = run(app, ["demo", *options])
    assert result.exit_code == 1
    assert "Error: disk full" in result.output
    assert figure.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [figure]


@pytest.mark.parametrize("option", ["--output", "--figure"])
@pytest.mark.parametrize("name", ["missing/demo.html", "missing/demo.png", "demo.txt", "demo"])
def test_refuses_what_it_cannot_write_before_the_work(option, name, tmp_path):
    result = run(app, ["demo", option, str(tmp_path / name)])
    assert result.exit_code == 2
    assert option in result.output
    assert not list(tmp_path.iterdir())


def test_refuses_a_folder(tmp_path):
    folder = tmp_path / "folder.html"
    folder.mkdir()
    result = run(app, ["demo", "--output", str(folder)])
    assert result.exit_code == 2
    assert "--output" in result.output


def test_help_does_not_wait_for_jax():
    code = "import sys, unsculpt.cli; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
