import pytest
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
