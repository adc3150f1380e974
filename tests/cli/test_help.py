import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from unsculpt.cli import app
from unsculpt.decorrelators.base import methods

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


@pytest.mark.parametrize("command", COMMANDS)
def test_has_examples_that_fit_a_terminal(command):
    answer = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, [command, "--help"])
    assert answer.exit_code == 0
    _, _, rest = answer.output.partition("Example")
    examples = rest.split("╭")[0].split("\n")[1:]
    assert any(line.strip().startswith(f"unsculpt {command}") for line in examples)
    # A line that goes on is indented; one that was broken is not.
    assert all(line.startswith("   ") for line in examples if line.strip())


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda c: c.callback.__name__)
def test_every_option_is_described_by_sentences_of_its_own(command):
    options = get_command(app).commands[command.callback.__name__].params
    for option in options:
        said = option.help
        assert said[0].isupper(), option.name
        assert said.endswith("."), option.name
        assert "likewise" not in said, option.name
        if getattr(option, "is_flag", False):  # the help would say that it takes a value, <bool>
            assert option.metavar == "", option.name


def test_fit_fits_two_screens():
    answer = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"}).invoke(app, ["fit", "--help"])
    assert answer.output.count("\n") <= 100
    groups = [answer.output.find(f"─ {group} ─") for group in ("Events", "Method", "Output")]
    assert -1 < groups[0] < groups[1] < groups[2]


def test_fit_names_the_registered_methods():
    (option,) = (x for x in get_command(app).commands["fit"].params if x.name == "method")
    named = option.help.removeprefix("How to decorrelate: ").partition(".")[0].split(", ")
    # Those of the package: a test may define more.
    ours = {n for n, kind in methods().items() if kind.__module__.startswith("unsculpt.")}
    assert set(named) == ours


@pytest.mark.parametrize("command", ["'fit', '--help'", "'info', sys.argv[1]"])
def test_what_looks_at_no_event_waits_for_no_library(command, tmp_path):
    from unsculpt import DDTDecorrelator

    DDTDecorrelator().fit(range(20), [i % 7 for i in range(20)]).save(tmp_path / "model")
    code = f"""
import sys
from unsculpt.cli import app
try:
    app([{command}])
except SystemExit as stop:
    heavy = ("jax", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "uproot")
    print(stop.code, [name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    child = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True
    )
    assert child.stderr.splitlines()[-1] == "0 []"
