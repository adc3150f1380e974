"""Two scores for the ABCD method: two taggers, double DisCo, and a decorrelator on top.

    python benchmarks/abcd.py                  # seeds 10 to 12, double DisCo at alpha 10
    python benchmarks/abcd.py --choose         # seeds 0 and 1, several strengths
    python benchmarks/abcd.py --coverage 100   # how often a toy closes within one error

On the shipped jets, W against QCD. Networks are trained on jets of the train split, decorrelators
fitted on the QCD of the val split, which no network has seen, and everything is judged on the test
split. Both cuts keep the same share of the QCD, so that A holds about the wanted share of it: the
pair of scores that keeps more W there is the better one. Closure is QCD in A over B·C/D.

Closure's first error is that of the counts of one network, the second the spread over seeds. The
efficiency's error is the larger of the two kinds.
"""

import argparse
import warnings

import numpy as np

from unsculpt import SplineDecorrelator, abcd
from unsculpt.classifiers import Classifier, fit_many
from unsculpt.datasets import load_jets
from unsculpt.metrics.separation import highest_cuts
from unsculpt.penalties import distance_correlation

IN_A = (0.01, 0.001)  # of the QCD
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--choose", action="store_true", help="scan the strength, other seeds")
    parser.add_argument("--coverage", type=int, default=0, help="draws of the toy")
    parser.add_argument("--alpha", type=float, default=10.0)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--jets", type=int, default=40_000, help="to train on, of each kind")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", ".* is outside")
    if arguments.coverage:
        coverage(arguments.coverage)
        return
    seeds = range(2) if arguments.choose else range(10, 13)
    strengths = STRENGTHS if arguments.choose else (arguments.alpha,)
    train, val, test = (load_jets(split) for split in ("train", "val", "test"))
    rows = [np.flatnonzero(train.label == kind)[: arguments.jets] for kind in (0, 1)]
    rows = np.concatenate(rows)
    X, y = train.features[rows].astype(float), train.label[rows]
    halves = np.arange(0, X.shape[1], 2), np.arange(1, X.shape[1], 2)
    print("disjoint variables:", *([train.names[i] for i in half] for half in halves))
    recipe = {"epochs": arguments.epochs, "batch_size": 1024, "hidden": (32, 32)}

    taggers = [[Classifier.disco(0, seed=s, **recipe) for s in seeds] for _ in halves]
    for half, group in zip(halves, taggers, strict=True):
        fit_many(group, X[:, half], y)
    doubles = [Classifier.double_disco(a, seed=s, **recipe) for a in strengths for s in seeds]
    fit_many(doubles, X, y)

    def two_taggers(pair, jets):
        return np.column_stack(
            [t.decision_function(jets.features[:, h]) for t, h in zip(pair, halves, strict=True)]
        )

    pairs = {"two taggers": [lambda j, p=p: two_taggers(p, j) for p in zip(*taggers, strict=True)]}
    for alpha in strengths:
        group = [dnn for dnn in doubles if dnn.alpha == alpha]
        pairs[f"double DisCo, alpha {alpha:g}"] = [
            lambda j, d=d: d.scores(j.features) for d in group
        ]
    for name, scores_of in pairs.items():
        raw, flat = [], []
        for scores in scores_of:
            known, new = scores(val)[val.label == 0], scores(test)
            raw.append(judge(new, test.label))
            spline = SplineDecorrelator().fit(known[:, 1], known[:, 0])
            new = np.column_stack([new[:, 0], spline.transform(new[:, 1], new[:, 0])])
            flat.append(judge(new, test.label))
        show(name, raw)
        show(f"{name}, decorrelated", flat)


def coverage(draws: int, fit: int = 4_000, events: int = 8_000, pairs: int = 10) -> None:
    """Print how often observed and predicted are within one error, for a toy with known truth."""
    pulls = {name: [] for name in ("raw", "exact", "fitted", "fitted, with the map's error")}
    for seed in range(1000, 1000 + draws):
        first, noise = np.random.default_rng(seed).normal(size=(2, fit + events))
        second = np.tanh(first) + (1 + 0.3 * np.sin(first)) * noise
        model = SplineDecorrelator().fit(second[:fit], first[:fit])
        one, two, exact = first[fit:], second[fit:], noise[fit:]
        flat = model.transform(two, one)
        varied = [
            (up.transform(two, one), down.transform(two, one))
            for up, down in model.variations(pairs)
        ]
        for (name, found), score in zip(pulls.items(), (two, exact, flat, flat), strict=True):
            cuts = (1.0, float(np.quantile(score, 0.8)))
            known = varied if "error" in name else ()
            found.append(abcd.closure(one, score, cuts, variations=known).pull)
    for name, found in pulls.items():
        wide = np.sqrt(np.mean(np.square(found)))
        print(f"| {name} | {np.sum(np.abs(found) < 1)} of {draws} | {wide:.2f} |")


def judge(scores: np.ndarray, label: np.ndarray) -> list[tuple[float, ...]]:
    """Return what each working point gives: closure, its error, pull, W kept; and dCor."""
    qcd, w = scores[label == 0], scores[label == 1]
    known = float(distance_correlation(*qcd.T))
    found = []
    for share in IN_A:
        cuts = equal_cuts(qcd, share)
        closed = abcd.closure(*qcd.T, cuts)
        kept = float((w >= cuts).all(axis=1).mean())
        error = np.sqrt(kept * (1 - kept) / len(w))
        found.append((closed.ratio, closed.ratio_error, closed.pull, kept, error, known))
    return found


def equal_cuts(qcd: np.ndarray, share: float) -> tuple[float, float]:
    """Return the cuts that keep the same share each, and together the wanted one."""
    weight = np.ones(len(qcd))
    low, high = share, 1.0
    for _ in range(30):
        middle = np.array([(low + high) / 2])
        cuts = tuple(float(highest_cuts(score, weight, middle)[0]) for score in qcd.T)
        low, high = (
            (low, middle[0]) if (qcd >= cuts).all(axis=1).mean() > share else (middle[0], high)
        )
    return cuts


def show(name: str, seeds: list[list[tuple[float, ...]]]) -> None:
    cells = []
    found = np.array(seeds)  # seeds, working points, numbers
    spread = found.std(axis=0, ddof=1)
    for mean, apart in zip(found.mean(axis=0), spread, strict=True):
        cells.append(f"{mean[0]:.3f} ± {mean[1]:.3f} ± {apart[0]:.3f}")
        cells.append(f"{100 * mean[3]:.1f} ± {100 * max(mean[4], apart[3]):.1f}%")
    print(f"| {name} | {found[..., 5].mean():.3f} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
