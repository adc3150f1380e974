"""Likelihood or optimal transport: which fits the convex potential of three classes better?

    python benchmarks/transport_twin.py [toy] [jets] [--draws 3]

`TransportDecorrelator` with either loss, to the normal and to the source, fitted on 20,000
background events of the toy and of the jets of three_classes.py. For a cut on each class the ratio
of 1/JSD50 to the mean of random selections, for each pair of classes the AUC at fixed mass, then
"turned" and "off" as there, and seconds of processor time of the fit with compilation. Means and
their errors over disjoint training draws, judged on the same events.
"""

import argparse
import time
import warnings

import numpy as np
from three_classes import measure, off, train_tagger, turned

from unsculpt import TransportDecorrelator
from unsculpt.datasets import load_jets, toys

EVENTS = 20_000


def main() -> None:
    warnings.filterwarnings("ignore", ".*is outside the fitted")  # a few jets past the last mass
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", nargs="*", default=["toy", "jets"])
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    for name in arguments.samples:
        draws = list({"toy": toy_draws, "jets": jet_draws}[name](arguments.draws))
        print(f"{name}, {len(draws)} draws of {len(draws[0][0]):,} background events")
        for base in ("normal", "source"):
            for loss in ("likelihood", "transport"):
                rows = [
                    judge(TransportDecorrelator(base=base, loss=loss, seed=seed), *draw)
                    for seed, draw in enumerate(draws)
                ]
                show(f"{base}, {loss}", np.array(rows))


def toy_draws(draws):
    test = toys.three_classes(60_000, 20_000, seed=99)
    exact = test.undrifted(test.score, test.protected)
    for seed in range(draws):
        train = toys.three_classes(EVENTS, 0, seed=seed)
        yield train.score, train.protected, test.score, test.protected, test.label, exact


def jet_draws(draws):
    tagger, unseen = train_tagger()
    train, test = (load_jets(split, top=True) for split in ("train", "test"))
    scores = tagger.predict_proba(test.features)
    unseen = unseen[train.label[unseen] == 0]
    for rows in np.array_split(unseen[: draws * EVENTS], draws):
        fit_on = tagger.predict_proba(train.features[rows])
        yield fit_on, train.mass[rows], scores, test.mass, test.label, None


def judge(model, train, train_mass, scores, mass, label, exact):
    """Fit; return the columns of the table."""
    start = time.process_time()
    model.fit(train, train_mass)
    seconds = time.process_time() - start
    moved = model.transform(scores, mass)
    found, ideal, area, _ = measure(moved, label, mass)
    distance = np.nan if exact is None else off(moved, exact, label)
    return [*found / ideal, *area, turned(model, scores, mass, label), distance, seconds]


def show(name, rows):
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / len(rows) ** 0.5
    digits = [2] * 3 + [4] * 5 + [0]
    cells = [f"{m:.{d}f} ± {e:.{d}f}" for m, e, d in zip(mean, error, digits, strict=True)]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
