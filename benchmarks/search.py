"""A search that knows no signal: W jets hidden in QCD, found beside the sidebands.

    python benchmarks/search.py [--draws 10] [--first 2000] [--figure docs/images/search.png]

The search of docs/tutorials/search.md on ten samples of 40,000 QCD jets, with W jets that are 0,
0.5, 1 and 2% as many. The maps of a sample are fitted once, to the sidebands with W jets of the
largest share. Samples share jets: there are 290,000 of QCD. Features, window and recipe were
chosen on seeds below 1010.

"before" is the excess in the window over the root of the QCD jets there, as if these were known.
"after" is the excess behind the cut that keeps 1%, over its error with that of the map of the
score, then the shares of the window's W and QCD jets that pass, and the error of the map in jets.
"plain" is the significance of Li and Ma (1983) of the same networks without that map, and "raw"
that of networks on features as they are. "told" is the excess over the root of known QCD behind the
same cut on networks that were trained on other W and QCD jets with their labels.
Means over samples and standard deviations of one.
"""

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtri

import unsculpt as us
from unsculpt.classifiers import Classifier
from unsculpt.datasets import load_jets

FEATURES = ["tau21", "d2"]
LOW, HIGH = 73, 89
QCD, SHARES, KEPT = 40_000, (0, 0.005, 0.01, 0.02), 0.01


def main() -> None:
    warnings.filterwarnings("ignore", ".*is outside the fitted")  # a few jets past the last mass
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=2000)
    parser.add_argument("--figure", help="draw the significances into this file")
    arguments = parser.parse_args()
    jets = load_jets()
    features = jets.features[:, [jets.names.index(name) for name in FEATURES]].astype(float)
    found = defaultdict(list)
    for seed in range(arguments.first, arguments.first + arguments.draws):
        start = time.process_time()
        for name, numbers in one_sample(features, jets.mass, jets.label, seed):
            found[name].append(numbers)
            print(seed, name, *(f"{x:.4f}" for x in numbers), flush=True)
        print(f"{time.process_time() - start:.0f} core s", flush=True)
    show(found)
    if arguments.figure:
        figure(found).savefig(arguments.figure, dpi=150)


def one_sample(features, mass, label, seed):
    rng = np.random.default_rng(seed)
    qcd, other_qcd = np.split(rng.permutation(np.flatnonzero(label == 0)), [QCD])
    w, other_w = np.split(rng.permutation(np.flatnonzero(label == 1)), [int(max(SHARES) * QCD)])
    rows = rng.permutation(np.r_[qcd, w])
    x, m, is_w = features[rows], mass[rows], label[rows] == 1
    order = np.cumsum(is_w)  # of the W jets, to take the first few
    sidebands, half = (m < LOW) | (m > HIGH), np.arange(len(m)) % 2
    latent = np.empty_like(x)
    for k in (0, 1):  # what the networks learn of the error of a map is not in the other one
        here = half == k
        flatten = flattening(x[here & sidebands], np.log(m[here & sidebands]), seed + k)
        latent[here] = flatten(x[here], np.log(m[here]))
    for share in SHARES:
        some = ~is_w | (order <= share * QCD)
        window, signal = (m[some] > LOW) & (m[some] < HIGH), is_w[some]
        yield f"{share:g} before", [np.sum(window & signal) / np.sum(window & ~signal) ** 0.5]
        score = scores(latent[some], window, half[some], seed)
        yield f"{share:g} plain", beside(score, window, signal, half[some])
        yield f"{share:g} after", flat(score, np.log(m[some]), window, signal, half[some])
        if share == 0:
            raw = scores(x[some], window, half[some], seed)
            yield f"{share:g} raw", beside(raw, window, signal, half[some])
    told = np.r_[other_qcd[:QCD], other_w[:QCD]]
    told = told[(mass[told] > LOW) & (mass[told] < HIGH)]
    network = Classifier(epochs=20, hidden=(32,), learning_rate=3e-3, batch_size=512, seed=seed)
    score = network.fit(features[told], label[told]).predict_proba(x)[:, 1]
    # Their cut is on QCD jets of the window: what they were told about.
    passes = score > np.quantile(score[window & ~signal], 1 - KEPT)
    for share in SHARES[1:]:
        some = window & (~is_w | (order <= share * QCD))
        on, b = np.sum(passes & some), np.sum(passes & some & ~is_w)
        yield f"{share:g} told", [(on - b) / b**0.5, np.mean(passes[some & is_w])]


def flattening(x, log_mass, seed):
    """Fit maps, and return what makes the features of any jets independent of the mass."""
    spline = us.SplineDecorrelator().fit(x, log_mass)

    def normal(x, log_mass):
        return ndtri(np.clip(spline.transform(x, log_mass), 1e-6, 1 - 1e-6))

    flow = us.FeatureDecorrelator(epochs=10, seed=seed).fit(normal(x, log_mass), log_mass)
    return lambda x, log_mass: flow.transform(normal(x, log_mass), log_mass)


def scores(x, window, half, seed):
    """Return the score of each jet by networks that have not seen it."""
    found = np.zeros(len(x))
    for k in (0, 1):
        here = half == k
        for member in range(3):
            network = Classifier(
                epochs=20, hidden=(32,), learning_rate=3e-3, batch_size=512, seed=seed + member
            )
            network.fit(x[~here], window[~here].astype(int))
            found[here] += network.predict_proba(x[here])[:, 1]
    return found


def flat(score, log_mass, window, signal, half):
    """Decorrelate the score, fitted in the sidebands; count what passes with the error of that."""
    passes, variance = np.zeros(len(score), bool), 0.0
    for k in (0, 1):
        beside, there = (half == k) & ~window, (half == k) & window
        spline = us.SplineDecorrelator().fit(score[beside], log_mass[beside])
        events = score[there], log_mass[there]
        passes[there] = spline.transform(*events) > 1 - KEPT
        ups_and_downs = [
            [np.sum(model.transform(*events) > 1 - KEPT) for model in pair]
            for pair in spline.variations(20)
        ]
        variance += np.sum(np.diff(ups_and_downs) ** 2) / 4
    expected = KEPT * np.sum(window)
    significance = (np.sum(passes) - expected) / np.sqrt(expected + variance)
    return [significance, *passing(passes, window, signal), np.sqrt(variance)]


def beside(score, window, signal, half):
    """Cut at the same score in the window and beside it."""
    passes = np.zeros(len(score), bool)
    for k in (0, 1):
        passes |= (half == k) & (score > np.quantile(score[(half == k) & ~window], 1 - KEPT))
    on, off = np.sum(passes & window), np.sum(passes & ~window)
    share = np.sum(window) / np.sum(~window)
    return [li_ma(on, off, share), *passing(passes, window, signal)]


def passing(passes, window, signal):
    """Return the shares of W and of QCD in the window that pass."""
    of_w = np.mean(passes[window & signal]) if signal.any() else np.nan
    return of_w, np.mean(passes[window & ~signal])


def li_ma(on, off, share):
    """Significance of a count beside another, of which it would be this share."""
    total = on + off
    log = on * np.log(on * (1 + share) / (share * total)) + off * np.log((1 + share) * off / total)
    return np.sign(on - share * off) * (2 * max(log, 0)) ** 0.5


def show(found):
    for name, rows in found.items():
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1 if len(rows) > 1 else 0)
        cells = [
            f"{a:.{d}f} ± {s:.{d}f}" for a, s, d in zip(mean, spread, [1, 2, 4, 1], strict=False)
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def figure(found):
    """Draw the significance of each sample against its share of signal."""
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    looks = {
        "raw": ("C3", "x", "features as they are"),
        "told": ("0.6", "^", "told what W jets are"),
        "after": ("C0", "o", "features and score without the mass"),
        "before": ("k", "_", "no cut, QCD known"),
    }
    for i, (kind, (colour, marker, label)) in enumerate(looks.items()):
        for place, share in enumerate(SHARES):
            values = [numbers[0] for numbers in found.get(f"{share:g} {kind}", [])]
            where = np.full(len(values), place + 0.15 * (i - 1.5))
            axes.scatter(where, values, color=colour, marker=marker, s=28, label=label)
            label = None
    axes.axhline(0, color="0.8", zorder=0)
    axes.set_xticks(range(len(SHARES)), [f"{100 * share:g}%" for share in SHARES])
    axes.set_xlabel("W jets, as a share of the QCD jets")
    axes.set_ylabel("significance in the window")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
