"""A search that knows no signal: W jets hidden in QCD, found beside the sidebands.

    python benchmarks/search.py [--draws 10] [--first 0] [--figure docs/images/search.png]

The search of docs/tutorials/search.md on ten samples of 40,000 QCD jets, with W jets that are 0,
0.5, 1 and 2% as many. The map of a sample is fitted once, to the sidebands with W jets of the
largest share. Samples share jets: there are 290,000 of QCD.

"before" is the excess in the window over the root of the QCD jets there, as if these were known.
"after" is the significance of Li and Ma (1983) behind the cut that keeps 1% of the sidebands, then
the shares of the window's W and QCD jets that pass it. "raw" is the same without a map, "told" the
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

FEATURES = ["tau21", "d2", "zcutdef", "pf"]
LOW, HIGH = 73, 89
QCD, SHARES, KEPT = 40_000, (0, 0.005, 0.01, 0.02), 0.01


def main() -> None:
    warnings.filterwarnings("ignore", ".*is outside the fitted")  # a few jets past the last mass
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
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
    latent = flattened(x, m, (m > LOW) & (m < HIGH), seed)
    for share in SHARES:
        some = ~is_w | (order <= share * QCD)
        window, signal = (m[some] > LOW) & (m[some] < HIGH), is_w[some]
        yield f"{share:g} before", [np.sum(window & signal) / np.sum(window & ~signal) ** 0.5]
        passes = selected(latent[some], window, seed)
        yield f"{share:g} after", judged(passes, window, signal)
        if share in (0, max(SHARES)):
            yield f"{share:g} raw", judged(selected(x[some], window, seed), window, signal)
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


def flattened(x, m, window, seed):
    """Return features whose distribution in the sidebands does not know the mass."""
    place = 2 * rank(m, m) - rank(m, m[~window])
    spline = us.SplineDecorrelator().fit(x[~window], place[~window])
    normal = ndtri(np.clip(spline.transform(x, place), 1e-6, 1 - 1e-6))
    flow = us.FeatureDecorrelator(epochs=10, seed=seed).fit(normal[~window], place[~window])
    return flow.transform(normal, place)


def rank(m, among):
    return np.searchsorted(np.sort(among), m) / len(among)


def selected(x, window, seed):
    """Return which jets pass, each judged by networks that have not seen it."""
    passes, fold = np.zeros(len(x), bool), np.arange(len(x)) % 2
    for k in (0, 1):
        here, score = fold == k, 0
        for member in range(3):
            network = Classifier(
                epochs=20, hidden=(32,), learning_rate=3e-3, batch_size=512, seed=seed + member
            )
            network.fit(x[~here], window[~here].astype(int))
            score = score + network.predict_proba(x[here])[:, 1]
        passes[here] = score > np.quantile(score[~window[here]], 1 - KEPT)
    return passes


def judged(passes, window, signal):
    """The significance, and the shares of W and of QCD in the window that pass."""
    on, off = np.sum(passes & window), np.sum(passes & ~window)
    share = np.sum(window) / np.sum(~window)
    of_w = np.mean(passes[window & signal]) if signal.any() else np.nan
    return [li_ma(on, off, share), of_w, np.mean(passes[window & ~signal])]


def li_ma(on, off, share):
    """Significance of a count beside another, of which it would be this share."""
    total = on + off
    log = on * np.log(on * (1 + share) / (share * total)) + off * np.log((1 + share) * off / total)
    return np.sign(on - share * off) * (2 * max(log, 0)) ** 0.5


def show(found):
    for name, rows in found.items():
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1 if len(rows) > 1 else 0)
        cells = [f"{a:.{d}f} ± {s:.{d}f}" for a, s, d in zip(mean, spread, [1, 2, 4], strict=False)]
        print(f"| {name} | {' | '.join(cells)} |")


def figure(found):
    """Draw the significance of each sample against its share of signal."""
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    looks = {
        "raw": ("C3", "x", "features as they are"),
        "told": ("0.6", "^", "told what W jets are"),
        "after": ("C0", "o", "features without the mass"),
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
