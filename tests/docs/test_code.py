"""The Python of the pages that have no test of their own runs, pasted from top to bottom."""

import re
from codeop import compile_command
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import uproot

import unsculpt as us
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys

ROOT = Path(__file__).parents[2]
LONGER = ("classifiers", "compose", "features", "flow", "quantile", "report", "spline", "transport")
QUICK = ("../README", "index", "files", "fixed-efficiency", "jets", "metrics")
ELSEWHERE = {  # pages that other tests run
    *("arrays", "crossfit", "data-and-simulation", "deploy", "move", "penalties", "uncertainty"),
    *("tutorials/abcd", "tutorials/any-classifier", "tutorials/fairness", "tutorials/search"),
    "tutorials/ten-minutes",
}
SKETCHES = {"../README", "index", "files"}  # a few lines to look at; all others can be pasted
CANNOT = {"cluster"}  # wants a batch system


@pytest.fixture(scope="module")
def sketched():
    """The names that the first lines of code take for granted: those of the reader's events."""
    toy = toys.tagger(3_000, 1_000, seed=1)
    names = {"score": toy.score, "mass": toy.protected, "bkg": toy.background}
    return names | {"w": np.ones_like(toy.score)}


@pytest.fixture
def quickly(monkeypatch):
    """Networks of one epoch: the pages show how to call them, not how good they are."""
    for recipe in ("vdnn", "disco", "double_disco"):
        short = partial(getattr(Classifier, recipe), epochs=1, batch_size=256)
        monkeypatch.setattr(Classifier, recipe, short)
    for method in ("FlowDecorrelator", "QuantileDecorrelator", "FeatureDecorrelator"):
        monkeypatch.setattr(us, method, partial(getattr(us, method), epochs=1))
    monkeypatch.setattr(us, "TransportDecorrelator", partial(us.TransportDecorrelator, epochs=1))


@pytest.mark.filterwarnings("ignore")  # of fits that are too short
@pytest.mark.parametrize(
    "page", [*QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in LONGER)]
)
def test_the_code_of_a_page(page, sketched, quickly, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page == "files":
        with uproot.recreate("run1.root") as file:
            file["Events"] = {"tagger": sketched["score"], "mass": sketched["mass"]}
    names = dict(sketched) if page in SKETCHES else {}
    for code in blocks(page):
        exec(code, names)


def blocks(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_every_page_with_code_is_run():
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    with_code = {page.as_posix() for page in pages if blocks(page.as_posix())}
    assert with_code <= {*QUICK, *LONGER, *ELSEWHERE, *CANNOT}


def test_blocks_can_be_pasted_at_the_prompt():
    """There a line after a loop or a function, without an empty one between, is an error."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    for page in pages:
        if page.stem == "arrays":
            continue  # its processor is a class of a file
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            typed = ""
            for line in [*block.splitlines(), ""]:
                typed += f"{line}\n"
                try:
                    done = compile_command(typed.removesuffix("\n"), symbol="single")
                except SyntaxError:
                    pytest.fail(f"{page.relative_to(ROOT)}: {line}")
                typed = "" if done else typed
            assert not typed, f"{page.relative_to(ROOT)}: {typed}"
