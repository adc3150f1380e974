"""The command lines of the pages are ones that the commands take."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from unsculpt.cli import app

ROOT = Path(__file__).parents[2]
UNSCULPT = get_command(app)
COMMANDS = UNSCULPT.commands
OPTIONS = {name for option in UNSCULPT.params for name in option.opts}


def lines(page):
    """Return the command lines in the blocks of a page, those over several lines as one."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    shell = [block for language, block in blocks if language in ("", "console")]
    found = (re.sub(r"^\$ ", "", line) for block in shell for line in block.splitlines())
    return [line for line in found if line.startswith("unsculpt ")]


PAGES = [page for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] if lines(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_options_exist(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("W_high_level.npz", "mine.parquet"):  # arguments that have to exist
        (tmp_path / name).touch()
    for line in lines(page):
        _, name, *given = shlex.split(line, comments=True)
        if name not in OPTIONS:
            COMMANDS[name].make_context(name, given)  # an error is that of the command


def test_pages_with_commands_are_found():
    assert {"README", "command-line", "ten-minutes", "move"} <= {page.stem for page in PAGES}
