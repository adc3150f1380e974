"""Draws the figure of docs/move.md: what a move to the barycentre costs, beside DisCo and MoDe.

python docs/figures/trade_off.py
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import unsculpt as us
from unsculpt import metrics, plots
from unsculpt.datasets import load_jets
from unsculpt.study.results import Results

DOCS = Path(__file__).parents[1]
STUDY = DOCS / "reproduction-run" / "results.parquet"
MASS = np.linspace(50, 300, 51)


def curve():
    """Trees on half of the training jets, a spline on QCD of the other half; judged on others."""
    train, test = load_jets("train"), load_jets("test")
    keep = np.flatnonzero(train.label < 2)
    first, second = np.array_split(np.random.default_rng(0).permutation(keep), 2)
    trees = HistGradientBoostingClassifier(random_state=0)
    trees.fit(train.features[first], train.label[first])
    qcd = second[train.label[second] == 0]
    spline = us.SplineDecorrelator()
    spline.fit(trees.decision_function(train.features[qcd]), train.mass[qcd])
    rows = test.label < 2
    mass, label = test.mass[rows].astype(float), test.label[rows]
    raw = trees.decision_function(test.features[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few jets beyond those of the fit
        flat = spline.move(raw, mass, to="barycentre")
    return metrics.trade_off(raw, flat, label, mass, bins=MASS)


def main():
    """Draw the curve and the points of the study, and print the curve."""
    points = curve()
    figure = plots.trade_off({"one classifier, moved to the barycentre": points})
    (axes,) = figure.axes
    study = Results.read(STUDY).where(step="classifier")
    for name, colour in (("DisCo", "#D55E00"), ("MoDe", "#009E73")):
        rows = study.where(family=name)
        at = [rows.grid(column).mean(axis=1) for column in ("r50", "inverse_jsd50")]
        axes.plot(*at, "s", color=colour, markerfacecolor="white", label=f"{name}, each trained")
    axes.set(xlim=(5, 80), ylim=(3, 2500))
    figure.legends[0].remove()
    figure.legend(loc="outside upper center", ncols=2)
    figure.savefig(DOCS / "images" / "trade-off.png", dpi=110)
    for amount, point in zip(np.linspace(0, 1, 11), points, strict=True):
        print(f"{amount:.1f} {point.rejection:.1f} {point.inverse_jsd:.1f} {point.ideal.mean:.0f}")


if __name__ == "__main__":
    main()
