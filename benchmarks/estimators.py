"""Which estimator is closest to ideal on shapes that nothing was chosen on?

    python benchmarks/estimators.py [--first 1000] [--shapes 50] [--events 110000] [--attributes 1]
        [--methods spline flow quantile knn] [--simple | --tail] [--draws 1] [--processes 1]

Each shape of benchmarks/shapes.py is drawn and fitted by every method; of several draws the mean
counts. With one attribute: the ratio to the ideal of 770,000 test events at 50, 10 and 1% of the
background kept, with the excess at infinite test statistics; one is ideal. With two: the chi2 per
cell expected in 200 cells of a million test events at 50, 10, 5 and 1%; one is ideal. Efficiencies
that an atom of the score makes impossible are left out. Seeds below 1,000 are for choosing.

`--simple` takes shapes with one bump or step and one noise (and, with two attributes, a slope in
pT), `--tail` shapes whose bumps and steps lie in the last 3% of the events. `zuko`, `lightgbm`,
`map` and `blend`, the mean of our spline's and flow's CDFs, are in benchmarks/peers.py.
"""

import argparse
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from peers import Blend, LightGBMQuantiles, NeighboursMap, ZukoFlow
from shapes import chi2_per_cell, exact_cut, grid, ratio_to_ideal, shape, simple

from unsculpt import (
    FlowDecorrelator,
    KNNDecorrelator,
    QuantileDecorrelator,
    SplineDecorrelator,
)

METHODS = {
    "spline": SplineDecorrelator,
    "flow": FlowDecorrelator,
    "paper": FlowDecorrelator.paper,
    "quantile": QuantileDecorrelator,
    "zuko": ZukoFlow,
    "lightgbm": LightGBMQuantiles,
    "map": NeighboursMap,
    "blend": Blend,
}
EFFICIENCIES = {1: (0.5, 0.1, 0.01), 2: (0.5, 0.1, 0.05, 0.01)}


def judge(model, at_points, truth, efficiency):
    """Return the ratio to ideal, or chi2 per cell, of a cut at an efficiency."""
    cut = (
        exact_cut(truth, efficiency, at_points)
        if model is None
        else model.threshold(efficiency, at_points)
    )
    if at_points.shape[1] == 1:
        return ratio_to_ideal(truth, cut, at_points)
    return chi2_per_cell(truth, cut, at_points, efficiency)


def measure(name, truth, scores, attributes, points):
    """Return the numbers of one method at every efficiency, and the seconds of its fits."""
    efficiencies = EFFICIENCIES[attributes.shape[1]]
    start = time.perf_counter()
    if name == "knn":  # a map for each working point
        models = [KNNDecorrelator(efficiency=e).fit(scores, attributes) for e in efficiencies]
    else:
        models = [METHODS[name]().fit(scores, attributes)] * len(efficiencies)
    seconds = time.perf_counter() - start
    found = []
    for model, efficiency in zip(models, efficiencies, strict=True):
        exact = judge(None, points, truth, efficiency)
        possible = exact > 0.99 if attributes.shape[1] == 1 else exact < 1.01
        found.append(judge(model, points, truth, efficiency) if possible else np.nan)
    return found, seconds


def fit_all(seed, arguments):
    """Return the numbers and seconds of every method on one shape, and the shape's name."""
    warnings.filterwarnings("ignore", ".*is outside the fitted")
    where = (0.97, 0.999) if arguments.tail else (0.05, 0.95)
    number = arguments.attributes
    truth = simple(seed, number) if arguments.simple else shape(seed, number, where)
    if number == 1:
        points = grid(truth, 5_000)
    else:
        points = truth.attributes(np.random.default_rng(seed).random((40_000, 2)))
    samples = [truth.sample(arguments.events, seed + 10**6 * i) for i in range(arguments.draws)]
    found = []
    for name in arguments.methods:
        draws = [measure(name, truth, *sample, points) for sample in samples]
        numbers, seconds = zip(*draws, strict=True)
        found.append((np.mean(numbers, axis=0), np.mean(seconds)))
    line = "; ".join(
        f"{name} " + " ".join(f"{x:.2f}" for x in numbers)
        for name, (numbers, _) in zip(arguments.methods, found, strict=True)
    )
    print(f"{seed} {line} ({truth.name})", flush=True)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--first", type=int, default=1000)
    arguments.add_argument("--shapes", type=int, default=50)
    arguments.add_argument("--events", type=int, default=110_000)
    arguments.add_argument("--attributes", type=int, default=1, choices=[1, 2])
    arguments.add_argument("--methods", nargs="+", default=["spline", "flow", "quantile", "knn"])
    arguments.add_argument("--simple", action="store_true")
    arguments.add_argument("--tail", action="store_true")
    arguments.add_argument("--draws", type=int, default=1)
    arguments.add_argument("--processes", type=int, default=1)
    arguments = arguments.parse_args()

    seeds = range(arguments.first, arguments.first + arguments.shapes)
    shapes = Parallel(arguments.processes)(delayed(fit_all)(seed, arguments) for seed in seeds)
    table = np.array([[numbers for numbers, _ in found] for found in shapes]).swapaxes(0, 1)
    seconds = np.array([[took for _, took in found] for found in shapes]).T
    better = np.nanmax if arguments.attributes == 1 else np.nanmin
    worst = np.nanmin if arguments.attributes == 1 else np.nanmax
    by_shape = np.nanmean(table, axis=2)
    best = better(by_shape, axis=0)
    print(f"{arguments.shapes} shapes from seed {arguments.first}, {arguments.events:,} events")
    for name, own, mean, took in zip(arguments.methods, table, by_shape, seconds, strict=True):
        part = mean / best if arguments.attributes == 1 else best / mean
        print(
            f"{name:9s} mean {np.nanmean(own, axis=0).round(3)}, all {np.nanmean(mean):.3f}, "
            f"worst shape {worst(mean):.3f}; of the best: within 5% in "
            f"{np.mean(part[np.isfinite(part)] > 0.95):.0%}, least {np.nanmin(part):.2f}; "
            f"fit {np.median(took):.1f} s"
        )


if __name__ == "__main__":
    main()
