import json

import pytest
import typer
from typer.testing import CliRunner

import unsculpt.datasets
from unsculpt.cli.generate import generate

app = typer.Typer()
app.command()(generate)


@pytest.fixture
def asked(monkeypatch):
    calls = {}
    monkeypatch.setattr(unsculpt.datasets, "generate", lambda path, **kw: calls.update(kw))
    return calls


def test_options_reach_the_generator(asked):
    numbers = {"qcd": 5, "w": 6, "top": 7, "seed": 8, "workers": 3}
    options = [f"--{name}={number}" for name, number in numbers.items()]
    assert CliRunner().invoke(app, ["jets.parquet", *options, "--no-detector"]).exit_code == 0
    assert asked == numbers | {"detector": False}


def test_what_it_says(asked):
    def say(*options):
        return CliRunner().invoke(app, ["jets.parquet", "--qcd", "5", "--w", "0", *options]).stdout

    assert say().startswith("Wrote 5 jets in 0 s: jets.parquet")
    assert say("--quiet") == ""
    answer = json.loads(say("--json"))
    assert answer["file"] == "jets.parquet"
    assert answer["jets"] == {"qcd": 5, "w": 0, "top": 0}


def test_negative_numbers_are_refused(asked):
    result = CliRunner().invoke(app, ["jets.parquet", "--qcd", "-1"])
    assert result.exit_code == 2
    assert not asked


def test_what_the_generator_refuses_is_said_without_a_traceback(monkeypatch):
    def refuse(path, **settings):
        raise ModuleNotFoundError("generating jets needs numba: pip install 'unsculpt[generate]'")

    monkeypatch.setattr(unsculpt.datasets, "generate", refuse)
    result = CliRunner().invoke(app, ["jets.parquet"])
    assert result.exit_code == 1
    assert "pip install 'unsculpt[generate]'" in result.output
