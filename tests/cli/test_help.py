import pytest
from typer.main import get_command
from typer.testing import CliRunner

from unsculpt.cli import app

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
        said = getattr(option, "help", None) or "The method."  # fit looks its methods up when asked
        assert said[0].isupper(), option.name
        assert said.endswith("."), option.name
        assert "likewise" not in said, option.name


def test_fit_fits_two_screens():
    answer = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"}).invoke(app, ["fit", "--help"])
    assert answer.output.count("\n") <= 100
    for group in ("Events", "Method", "Output"):
        assert f"─ {group} ─" in answer.output
