"""The Python of the pages that have no test of their own runs, on events that fit their names."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unsculpt as us
from unsculpt import files, metrics
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys

ROOT = Path(__file__).parents[2]
LONGER = ("classifiers", "compose", "features", "flow", "quantile", "report", "transport")
QUICK = ("../README", "index", "files", "fixed-efficiency", "jets", "metrics", "spline")
ELSEWHERE = {  # pages that other tests run
    *("arrays", "crossfit", "data-and-simulation", "deploy", "move", "penalties", "uncertainty"),
    *("tutorials/abcd", "tutorials/any-classifier", "tutorials/fairness", "tutorials/search"),
    "tutorials/ten-minutes",
}
CANNOT = {"cluster"}  # wants a batch system


@pytest.fixture(scope="module")
def names():
    """What the pages take for granted: a tagger's events and what was fitted to them."""
    toy = toys.tagger(3_000, 1_000, seed=1)
    rng = np.random.default_rng(2)
    score, mass, label = toy.score, toy.protected, toy.label
    pt = rng.uniform(300, 400, len(score))
    features = np.column_stack([score, rng.normal(size=(len(score), 2)), mass])
    tau21 = rng.normal(0.6, 0.1, len(score)) + mass / 2000
    odds = np.exp(np.column_stack([np.zeros_like(score), score, tau21]))
    background = label == 0
    spline = us.SplineDecorrelator().fit(score[background], mass[background])
    parts = [
        spline.empty().partial_fit(score[background][i::2], mass[background][i::2]) for i in (0, 1)
    ]
    return {
        "us": us,
        "metrics": metrics,
        "spline": spline,
        "flat": spline.transform(score, mass),
        "score": score,
        "mass": mass,
        "label": label,
        "bkg": background,
        "background": background,
        "w": np.ones_like(score),
        "weight": np.ones_like(score),
        "pt": pt,
        "X": features,
        "features": features,
        "table": pd.DataFrame({"score": score, "mass": mass}),
        "tau21": tau21,
        "mass_and_pt": np.column_stack([mass, pt]),
        "probabilities": odds / odds.sum(axis=1, keepdims=True),
        "other_score": score[background],
        "other_mass": mass[background],
        "score_sample": score[background],
        "mass_sample": mass[background],
        "score_chunk": score[background][:500],
        "mass_chunk": mass[background][:500],
        "part_1": parts[0],
        "part_2": parts[1],
    }


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
def test_the_code_of_a_page(page, names, quickly, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    events = pd.DataFrame({"tagger": names["score"], "mass": names["mass"]})
    with files.create("run1.root", files.scan(written(events)).schema()) as put:
        for chunk in files.scan("events.parquet").chunks():
            put(chunk)
    known = dict(names)
    for code in blocks(page):
        exec(code, known)


def written(events):
    events.to_parquet("events.parquet")
    return "events.parquet"


def blocks(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_every_page_with_code_is_run():
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    with_code = {page.as_posix() for page in pages if blocks(page.as_posix())}
    assert with_code <= {*QUICK, *LONGER, *ELSEWHERE, *CANNOT}
