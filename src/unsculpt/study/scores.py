"""The same evaluation on scores that somebody else has made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from unsculpt import FlowDecorrelator, SplineDecorrelator
from unsculpt.atomic import atomic_write
from unsculpt.files import read_sample, scan
from unsculpt.plots import before_after, separation
from unsculpt.study.evaluation import evaluate
from unsculpt.study.figures.paper import save
from unsculpt.study.figures.tradeoff import tradeoff
from unsculpt.study.results import Results
from unsculpt.study.sample import few_outside

NAME = "your score"


def judge(path: Path, output: Path, *, console: Console | None = None) -> Results:
    """Put the paper's flow and our splines on top of saved scores; write numbers and figures.

    Args:
        path: a file of any kind that `unsculpt.files` reads, with columns `score`, `label` (1 for
            signal, 0 for background) and `mass` in GeV; if it has them `weight`, and `train`:
            both are fitted on background where it is 1, and all is judged where it is 0.
            Without it a random half is for fitting.
        output: folder for `scores.parquet` and the figures.
        console: where to report.

    Returns:
        The numbers as they are, with the paper's flow and with our splines.
    """
    events = scan(path)
    has = set(events.columns)
    columns = ["mass", "train"] if "train" in has else ["mass"]
    sample = read_sample(
        events,
        {
            "score": ["score"],
            "protected": columns,
            "background": "label == 0",
            "signal": "label == 1",
            "weight": "weight" if "weight" in has else None,
        },
    )
    half = np.random.default_rng(0).random(len(sample.label)) < 0.5
    fit = sample.protected["train"] == 1 if "train" in has else half
    train, test = sample[fit & (sample.label == 0)], sample[~fit]
    mass = test.protected["mass"]
    scores = {"none": test.scores}
    with few_outside():
        for recipe, method in (
            ("paper flow", FlowDecorrelator.paper()),
            ("ours", SplineDecorrelator()),
        ):
            method.fit(train.scores, train.protected["mass"], sample_weight=train.weight)
            scores[recipe] = method.transform(test.scores, mass)
    rows = [
        {
            "family": NAME,
            "step": "classifier" if name == "none" else name,
            "decorrelation": name,
            "alpha": 0.0,
            "seed": 0,
            "events": len(train.label),
        }
        | evaluate(score, test.label, mass, test.weight)
        for name, score in scores.items()
    ]
    results = Results(rows)
    output.mkdir(parents=True, exist_ok=True)
    with atomic_write(output / "scores.parquet") as draft:
        pq.write_table(pa.Table.from_pylist(rows), draft)
    raw, flat, weight = scores["none"], scores["ours"], test.weight
    named = {NAME: raw, "with our splines": flat}
    figures = {
        "separation-in-bins": separation(named, test.label, mass, sample_weight=weight),
        "before-and-after": before_after(raw, flat, test.label, mass, sample_weight=weight),
        "tradeoff": tradeoff(results, mass[test.label == 0], "ours", (NAME,)),
    }
    save(figures.items(), output / "figures")
    (console or Console()).print(_table(results))
    return results


def _table(results: Results) -> Table:
    table = Table(
        "",
        "R50",
        "1/JSD50",
        "ideal",
        "chi2",
        "R50, 70 to 100",
        "1/JSD50",
        "ideal",
        "AUC",
        box=SIMPLE,
        collapse_padding=True,
    )
    for column in table.columns[1:]:
        column.justify = "right"
    names = (
        "r50",
        "inverse_jsd50",
        "ideal",
        "chi2_merged",
        "r50_window",
        "inverse_jsd50_window",
        "ideal_window",
        "auc",
    )
    for row in results.rows:
        table.add_row(row["decorrelation"], *(f"{row[name]:.4g}" for name in names))
    return table
