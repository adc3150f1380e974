"""Draws the figures of docs/jets.md into docs/images and prints its numbers."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import jensenshannon
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from unsculpt.datasets import Jets, load_jets

IMAGES = Path(__file__).parents[1] / "images"
CLASSES = {0: "QCD", 1: "W", 2: "top"}
TITLES = {
    "pt": "pT [GeV]", "tau21": "τ21", "c2": "C2", "d2": "D2", "fw": "Fox-Wolfram H2/H0",
    "pf": "planar flow", "ap": "aplanarity", "zcutdef": "Zcut", "ktdr": "kt ΔR",
    "sqrtd12": "√d12 [GeV]",
}  # fmt: skip


def draw(axis, values, label, classes, bins):
    """The normalised spectrum of every class."""
    for code in classes:
        axis.hist(values[label == code], bins, density=True, histtype="step", label=CLASSES[code])
    axis.set_yticks([])


def variables(jets: Jets) -> plt.Figure:
    """All ten variables of QCD and W jets."""
    figure, axes = plt.subplots(2, 5, figsize=(14, 5), layout="constrained")
    for axis, name, values in zip(axes.flat, jets.names, jets.features.T, strict=True):
        draw(axis, values, jets.label, (0, 1), np.linspace(*np.quantile(values, (0, 0.998)), 61))
        axis.set_xlabel(TITLES[name])
    axes.flat[0].legend(frameon=False)
    return figure


def mass(jets: Jets) -> plt.Figure:
    """The mass of every class, and that of QCD on a logarithmic scale."""
    figure, (linear, logarithmic) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    bins = np.linspace(50, 300, 101)
    draw(linear, jets.mass, jets.label, CLASSES, bins)
    draw(logarithmic, jets.mass, jets.label, [0], bins)
    logarithmic.set_yscale("log")
    for axis in (linear, logarithmic):
        axis.set_xlabel("jet mass [GeV]")
        axis.legend(frameon=False)
    return figure


def mass_dependence(jets: Jets) -> plt.Figure:
    """How D2 and tau21 of QCD jets move with the mass."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    qcd = jets.label == 0
    edges = np.arange(50, 251, 10)
    where = np.digitize(jets.mass[qcd], edges)
    for axis, name in zip(axes, ("d2", "tau21"), strict=True):
        values = jets.features[qcd, jets.names.index(name)]
        low, middle, high = np.array(
            [np.quantile(values[where == i], (0.25, 0.5, 0.75)) for i in range(1, len(edges))]
        ).T
        centres = (edges[1:] + edges[:-1]) / 2
        axis.plot(centres, middle, label="median of QCD")
        axis.fill_between(centres, low, high, alpha=0.25, label="its middle half")
        axis.set(xlabel="jet mass [GeV]", ylabel=TITLES[name])
    axes[0].legend(frameon=False)
    return figure


def numbers(train: Jets, test: Jets) -> None:
    """Separation and sculpting of a quick classifier on the ten variables."""
    model = HistGradientBoostingClassifier(max_iter=200, random_state=0)
    score = model.fit(train.features, train.label).predict_proba(test.features)[:, 1]
    qcd, w = test.label == 0, test.label == 1
    passes = score > np.median(score[w])
    spectra = [
        np.histogram(test.mass[qcd & kept], np.linspace(50, 300, 51))[0]
        for kept in (passes, ~passes)
    ]
    counts, edges = np.histogram(test.mass[w], np.arange(50, 301, 1))
    in_peak = np.mean((test.mass[w] > 65) & (test.mass[w] < 105))
    print(f"W peak {edges[counts.argmax()] + 0.5} GeV, {in_peak:.1%} of W jets in 65-105 GeV")
    print(f"AUC {roc_auc_score(test.label, score):.3f}, R50 {1 / passes[qcd].mean():.1f}")
    print(f"1/JSD50 {1 / jensenshannon(*spectra) ** 2:.1f}")


def main() -> None:
    """Everything the page shows."""
    IMAGES.mkdir(exist_ok=True)
    test = load_jets("test", top=True)
    for name, figure in {
        "jets-variables": variables(test),
        "jets-mass": mass(test),
        "jets-mass-dependence": mass_dependence(test),
    }.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=100)
    numbers(load_jets("train"), load_jets("test"))


if __name__ == "__main__":
    main()
