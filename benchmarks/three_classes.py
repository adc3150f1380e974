"""Three classes: does a decorrelation keep their order at fixed mass?

    python benchmarks/three_classes.py [--figure docs/images/three-classes.png]

Transport (gradients of convex potentials) and the autoregressive flow of features, both fitted to
the log-ratios of three probabilities on background and judged on fresh events: on the toy whose
exact answer is known, and on the QCD, W and top jets, with a small network for the three classes.

For each class: 1/JSD of the background's mass spectrum for a cut on that class's probability that
keeps half of that class, beside the same for random selections. For each pair of classes: the AUC
of the ratio of their probabilities in bins of 10 GeV, averaged over the first class's mass.
In brackets, the lowest of the bins with 200 events of each. "turned": of random pairs of events put
at one mass, the share whose difference in the log-ratios points the other way afterwards.
"off": on the toy, the mean distance of the background to the exact answer in widths of the base.
"""

import argparse
import time
import warnings

import numpy as np
from class_clouds import class_clouds
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.linalg import helmert
from scipy.special import softmax

from unsculpt import FeatureDecorrelator, TransportDecorrelator, metrics
from unsculpt.classifiers import Classifier
from unsculpt.datasets import load_jets, toys
from unsculpt.decorrelators.transport.coordinates import log_ratios

BINS = np.linspace(50, 300, 51)
PAIRS = [(1, 0), (2, 0), (1, 2)]


class Autoregressive:
    """The feature flow on log-ratios, and back with the background's centre and width."""

    def __init__(self, **settings):
        self.flow = FeatureDecorrelator(**settings)

    def fit(self, scores, mass):
        plane = log_ratios(scores)
        self.centre, self.width = plane.mean(axis=0), np.sqrt(plane.var(axis=0).mean())
        self.flow.fit(plane, mass)
        return self

    def transform(self, scores, mass):
        normal = self.flow.transform(log_ratios(scores), mass)
        return softmax((self.centre + self.width * normal) @ helmert(3), axis=1)


METHODS = {
    "transport": TransportDecorrelator,
    "transport to the source": lambda: TransportDecorrelator(base="source"),
    "autoregressive": Autoregressive,
}


def main() -> None:
    warnings.filterwarnings("ignore", "protected is outside")  # a few jets past the last mass
    parser = argparse.ArgumentParser()
    parser.add_argument("--figure", help="draw the toy's classes into this file")
    parser.add_argument("--seeds", type=int, default=1, help="training draws of the toy")
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        toy, train = (
            toys.three_classes(60_000, 20_000, seed=99),
            toys.three_classes(20_000, 0, seed=seed),
        )
        exact = toy.undrifted(toy.score, toy.protected)
        print(f"Toy, draw {seed}, fitted on {len(train.score):,} background events")
        judge("before", toy.score, toy.label, toy.protected)
        judge("exact", exact, toy.label, toy.protected)
        moved = compare(train.score, train.protected, toy.score, toy.protected, toy.label, exact)
    if arguments.figure:
        shown = {"before": toy.score} | {k: moved[k] for k in ("transport", "autoregressive")}
        slices = [(60, 70), (80, 90), (120, 140), (180, 220)]
        figure = class_clouds(shown, toy.label, toy.protected, slices)
        FigureCanvasAgg(figure).print_figure(arguments.figure, dpi=150)

    tagger, _ = train_tagger()
    val, test = (load_jets(split, top=True) for split in ("val", "test"))
    qcd = val.label == 0
    some = np.r_[0:75_000, 150_000:165_000, 180_000:200_000]  # of QCD, W and top
    scores, mass, label = (
        x[some] for x in (tagger.predict_proba(test.features), test.mass, test.label)
    )
    print(f"Jets, fitted on {qcd.sum():,} QCD jets; judged on {np.bincount(label)}")
    judge("before", scores, label, mass)
    compare(tagger.predict_proba(val.features[qcd]), val.mass[qcd], scores, mass, label)


def train_tagger():
    """Return a network for QCD, W and top, and the rows of training jets it has not seen."""
    train = load_jets("train", top=True)
    rows = np.random.default_rng(0).permutation(len(train))
    seen, unseen = rows[:120_000], rows[120_000:]
    tagger = Classifier(epochs=15, batch_size=512).fit(train.features[seen], train.label[seen])
    return tagger, unseen


def compare(train, train_mass, scores, mass, label, exact=None):
    """Fit and judge all methods; return what they make of the scores."""
    moved = {}
    for name, method in METHODS.items():
        start = time.perf_counter()
        model = method().fit(train, train_mass)
        seconds = time.perf_counter() - start
        moved[name] = model.transform(scores, mass)
        extra = f"{turned(model, scores, mass, label):.4f}"
        if exact is not None:
            extra += f" | {off(moved[name], exact, label):.3f}"
        judge(f"{name} ({seconds:.0f} s)", moved[name], label, mass, extra)
    return moved


def plane(scores):
    """Log-ratios that resolve what is far beyond the sample."""
    return np.log(np.maximum(scores, 1e-300)) @ helmert(3).T


def turned(model, scores, mass, label):
    """The share of pairs at one mass that point the other way afterwards, over five masses."""
    rows = np.random.default_rng(1).permutation(len(scores))[:10_000]
    before, shares = log_ratios(scores[rows]), []
    for here in np.quantile(mass[label == 0], [0.1, 0.3, 0.5, 0.7, 0.9]):
        after = plane(model.transform(scores[rows], np.full(len(rows), here)))
        dot = ((before[1:] - before[:-1]) * (after[1:] - after[:-1])).sum(axis=1)
        shares.append(np.mean(dot < 0))
    return np.mean(shares)


def off(scores, exact, label):
    """The mean distance of background to the exact answer, both at mean 0 and width 1."""
    one, two = (plane(p[label == 0]) for p in (scores, exact))
    one, two = ((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0).mean()) for x in (one, two))
    return np.linalg.norm(one - two, axis=1).mean()


def judge(name, scores, label, mass, extra=""):
    found, ideal, area, lowest = measure(scores, label, mass)
    sculpting = [f"{one:.0f} of {other:.0f}" for one, other in zip(found, ideal, strict=True)]
    areas = [f"{one:.4f} ({other:.3f})" for one, other in zip(area, lowest, strict=True)]
    print(f"{name} | {' | '.join(sculpting)} | {' | '.join(areas)} | {extra}", flush=True)


def measure(scores, label, mass):
    """1/JSD50 and its ideal for each class; the AUC and its lowest bin for each pair."""
    sculpting, areas = [], []
    background = np.flatnonzero(label == 0)
    for k in range(3):
        signal = np.flatnonzero(label == k)
        rows = np.r_[background, signal]
        is_signal = np.repeat([0, 1], [len(background), len(signal)])
        events = (scores[rows, k], is_signal, mass[rows])
        ideal = metrics.ideal_inverse_jsd(*events, bins=BINS)
        sculpting.append((metrics.inverse_jsd(*events, bins=BINS), ideal.mean))
    log = np.log(np.maximum(scores, 1e-300))
    for one, other in PAIRS:
        rows = (label == one) | (label == other)
        events = ((log[:, one] - log[:, other])[rows], (label[rows] == one).astype(int), mass[rows])
        counts = [np.histogram(mass[label == k], BINS[::2])[0] for k in (one, other)]
        enough = np.minimum(*counts) >= 200
        lowest = metrics.auc_in_bins(*events, bins=BINS[::2])[enough].min()
        areas.append((metrics.expected_auc(*events, bins=BINS[::2]), lowest))
    return np.concatenate([np.transpose(sculpting), np.transpose(areas)])


if __name__ == "__main__":
    main()
