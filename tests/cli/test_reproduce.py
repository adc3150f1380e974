import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from unsculpt import study
from unsculpt.cli import app


@pytest.fixture
def calls(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        study, "run", lambda *args, **options: calls.append((args, options)) or tmp_path
    )
    return calls


def test_the_preset_and_the_folder_arrive(calls, tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", "--preset", "paper", "--output", str(tmp_path), "--no-figures"]
    )
    assert result.exit_code == 0, result.output
    ((arguments, options),) = calls
    assert arguments == ("paper", tmp_path)
    assert options["data"] is None


def test_one_object_for_scripts(monkeypatch, tmp_path):
    table = tmp_path / "results.parquet"
    pq.write_table(pa.table({"r50": [9.5, 12.0, None]}), table)

    def run(*arguments, console, **options):
        console.print("a plan")
        return table

    monkeypatch.setattr(study, "run", run)
    options = ["reproduce", "--output", str(tmp_path), "--no-figures"]
    assert "a plan" in CliRunner().invoke(app, options).output
    assert CliRunner().invoke(app, [*options, "--quiet"]).output == ""
    answer = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert answer.pop("seconds") >= 0
    assert answer == {
        "output": str(tmp_path),
        "preset": "quick",
        "results": str(table),
        "models": 2,
    }


def test_an_unknown_preset_is_named_before_the_work(calls):
    result = CliRunner().invoke(app, ["reproduce", "--preset", "full"])
    assert result.exit_code == 2
    assert "quick" in result.output
    assert not calls


def test_a_missing_file_of_jets_is_named(calls, tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "--data", str(tmp_path / "none.npz")])
    assert result.exit_code == 2
    assert not calls


def test_help_does_not_wait_for_jax():
    code = (
        "import sys; from typer.testing import CliRunner; from unsculpt.cli import app; "
        "assert CliRunner().invoke(app, ['reproduce', '--help']).exit_code == 0; "
        "assert 'jax' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
