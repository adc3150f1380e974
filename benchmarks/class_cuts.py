"""Three classes: is the background flat at every cut on the new scores, as with one score alone?

    python benchmarks/class_cuts.py [--draws 5]

The jets and the tagger of three_classes.py. The QCD jets of the test split, which the tagger has
not seen, are cut into parts of 30,000: each fits all methods once, the others judge them. Numbers
are means over these draws with their errors.

First 1/JSD of the background's mass for cuts that reject 50, 90 and 99% of it, over the mean of
random selections of the same size, for cuts on the new probabilities of W, of top, and of not being
QCD, and on the ratios of W and of top to QCD. "alone" flattens each of these by itself, without
the others: what a vector has to reach. Then, of the vectors, the AUC of each pair of classes at
fixed mass, "turned" of three_classes.py, and seconds of processor time of the fit.
"""

import argparse
import time
import warnings

import numpy as np
from three_classes import PAIRS, train_tagger, turned

import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import load_jets

BINS = np.linspace(50, 300, 51)
EVENTS = 30_000
REJECTIONS = (0.5, 0.9, 0.99)
CUTS = {
    "W": lambda log: log[:, 1] - np.logaddexp(log[:, 0], log[:, 2]),
    "top": lambda log: log[:, 2] - np.logaddexp(log[:, 0], log[:, 1]),
    "not QCD": lambda log: np.logaddexp(log[:, 1], log[:, 2]) - log[:, 0],
    "W to QCD": lambda log: log[:, 1] - log[:, 0],
    "top to QCD": lambda log: log[:, 2] - log[:, 0],
}
ALONE = {"spline": us.SplineDecorrelator, "flow": us.FlowDecorrelator}
BASES = "normal", "simplex"
VECTORS = ["odds", *(name for base in BASES for name in (base, f"{base}, odds"))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--flow", action="store_true", help="a flow alone too: ten times as long")
    arguments = parser.parse_args()
    tagger, _ = train_tagger()
    jets = load_jets("test", top=True)
    events = tagger.predict_proba(jets.features), jets.mass, jets.label
    alone = ALONE if arguments.flow else {"spline": us.SplineDecorrelator}
    rows = [judge(*events, draw, alone) for draw in range(arguments.draws)]
    show({name: np.array([row[name] for row in rows]) for name in rows[0]})


def judge(scores, mass, label, draw, alone):
    """Fit all methods to one part of the background; return their numbers on the rest."""
    warnings.filterwarnings("ignore", ".*is outside the fitted")  # a few jets past the last mass
    background = np.random.default_rng(0).permutation(np.flatnonzero(label == 0))
    here = slice(draw * EVENTS, (draw + 1) * EVENTS)
    fit, rest = background[here], np.r_[np.delete(background, here), np.flatnonzero(label > 0)]
    is_background = label[rest] == 0
    found = {"before": all_cuts(scores[rest][is_background], mass[rest][is_background])}

    def judged(model, seconds):
        moved = model.transform(scores[rest], mass[rest])
        return [
            *all_cuts(moved[is_background], mass[rest][is_background]),
            *areas(moved, label[rest], mass[rest]),
            turned(model, scores[rest], mass[rest], label[rest]),
            seconds,
        ]

    odds, seconds = timed_fit(us.OddsDecorrelator(), scores[fit], mass[fit])
    found["odds"] = judged(odds, seconds)
    for base in BASES:
        model, seconds = timed_fit(us.TransportDecorrelator(base=base), scores[fit], mass[fit])
        found[base] = judged(model, seconds)
        moved = model.transform(scores[fit], mass[fit])
        odds, more = timed_fit(us.OddsDecorrelator(), moved, mass[fit])
        found[f"{base}, odds"] = judged(us.Chain([model, odds]), seconds + more)
    test = rest[is_background]
    for name, method in alone.items():
        found[f"{name} alone"] = []
        for cut in CUTS.values():
            one, other = (cut(logs(scores[rows])) for rows in (fit, test))
            flat = method().fit(one, mass[fit]).transform(other, mass[test])
            found[f"{name} alone"] += flatness(flat, mass[test])
    return found


def timed_fit(model, scores, mass):
    start = time.process_time()
    return model.fit(scores, mass), time.process_time() - start


def logs(scores):
    return np.log(np.maximum(scores, 1e-300))


def all_cuts(scores, mass):
    return [x for cut in CUTS.values() for x in flatness(cut(logs(scores)), mass)]


def flatness(score, mass):
    """1/JSD over that of random selections, at each rejection."""
    # Every jet also stands for a signal of the same score: so a cut keeps what it does not reject.
    kind = np.repeat([0, 1], len(score))
    events = np.tile(score, 2), kind, np.tile(mass, 2)
    found = []
    for rejection in REJECTIONS:
        how = {"efficiency": 1 - rejection, "bins": BINS}
        ideal = metrics.ideal_inverse_jsd(*events, **how).mean
        found.append(metrics.inverse_jsd(*events, **how) / ideal)
    return found


def areas(scores, label, mass):
    """The AUC at fixed mass of the ratio of two probabilities, for each pair of classes."""
    found, log = [], logs(scores)
    for one, other in PAIRS:
        rows = (label == one) | (label == other)
        events = (log[:, one] - log[:, other])[rows], (label[rows] == one).astype(int), mass[rows]
        found.append(metrics.expected_auc(*events, bins=BINS[::2]))
    return found


def show(found):
    """Print the two tables."""
    cuts = len(CUTS) * len(REJECTIONS)
    print(f"| {' | '.join(['', *CUTS])} |")
    for name, rows in found.items():
        cells = np.split(of_mean(rows[:, :cuts], 2), len(CUTS))
        print(f"| {name} | {' | '.join(', '.join(cell) for cell in cells)} |")
    print("| | AUC W to QCD | top to QCD | W to top | turned | fit, core s |")
    for name in VECTORS:
        digits = np.r_[of_mean(found[name][:, cuts:-1], 4), of_mean(found[name][:, -1:], 0)]
        print(f"| {name} | {' | '.join(digits)} |", flush=True)


def of_mean(rows, digits):
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / len(rows) ** 0.5
    return np.array([f"{m:.{digits}f} ± {e:.{digits}f}" for m, e in zip(mean, error, strict=True)])


if __name__ == "__main__":
    main()
