"""The first tutorial, typed in as it stands, and the commands of pages that use its files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import uproot

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parents[2] / "docs"


def type_in(page, folder):
    text = page.read_text()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in re.findall(r"^\$ (unsculpt (?:.*\\\n)*.*)$", text, flags=re.MULTILINE):
        subprocess.run(line, shell=True, cwd=folder, check=True, env=os.environ | {"PATH": path})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, page = tmp_path_factory.mktemp("tutorial"), DOCS / "tutorials" / "ten-minutes.md"
    for python in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        subprocess.run([sys.executable, "-c", python], cwd=folder, check=True)
    type_in(page, folder)
    return folder


@pytest.mark.parametrize("page", ["move", "crossfit", "report", "uncertainty"])
def test_pages_that_use_its_files(page, folder):
    before = set(os.listdir(folder))
    type_in(DOCS / f"{page}.md", folder)
    assert len(set(os.listdir(folder)) - before) > 1


def test_the_page_on_the_command_line_checks_its_file(folder):
    type_in(DOCS / "command-line.md", folder)


def test_the_score_is_flat_at_every_mass(folder):
    events = uproot.open(f"{folder}/flat.root:Events").arrays(library="np")
    background = events["label"] == 0
    for low, high in ((50, 70), (70, 100), (100, 300)):
        here = background & (events["mass"] >= low) & (events["mass"] < high)
        assert abs((events["tagger_flat"][here] > 0.9).mean() - 0.1) < 0.03
    assert {"tagger", "mass", "pt", "label"} < set(events)


def test_all_files_are_there(folder):
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "w.onnx").stat().st_size > 1000
    assert not [name for name in os.listdir(folder) if name.startswith(".")]
