"""Is the error of the map right? Pulls against the exact CDF on random shapes.

    python benchmarks/pulls.py [--first 3000] [--shapes 20] [--events 110000] [--attributes 1]

(transform - truth) / uncertainty of splines at the exact cut that keeps 50, 10 and 1% of the
background, at 400 values along the spectrum, each with as many events: their root mean square over
all shapes, in the bulk and in the first and the last twentieth of the events along the mass. One is
right. Values along one spectrum are correlated, so a shape says little by itself. Seeds below 1,000
are for choosing.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from shapes import exact_cut, grid, shape

from unsculpt import SplineDecorrelator

EFFICIENCIES = (0.5, 0.1, 0.01)
POINTS, EDGE = 400, 20


def pulls(seed: int, events: int, attributes: int) -> np.ndarray:
    """Return the mean squares of one shape, (efficiencies, [bulk, first, last])."""
    truth = shape(seed, attributes)
    scores, protected = truth.sample(events, seed)
    spline = SplineDecorrelator().fit(scores, protected)
    if attributes == 1:
        points = grid(truth, POINTS)
    else:
        points = truth.attributes(np.random.default_rng(seed).random((POINTS, 2)))
        points = points[np.argsort(points[:, 0])]
    found = np.full((len(EFFICIENCIES), 3), np.nan)
    for i, efficiency in enumerate(EFFICIENCIES):
        cut = exact_cut(truth, efficiency, points)
        exact = truth.cdf(cut, points)
        if np.abs(exact - 1 + efficiency).max() < 1e-6:  # no atom is in the way
            pull = (spline.transform(cut, points) - exact) / spline.uncertainty(cut, points)
            parts = pull[EDGE:-EDGE], pull[:EDGE], pull[-EDGE:]
            found[i] = [np.mean(part**2) for part in parts]
    print(seed, np.sqrt(found).round(2).tolist(), truth.name, flush=True)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--first", type=int, default=3000)
    arguments.add_argument("--shapes", type=int, default=20)
    arguments.add_argument("--events", type=int, default=110_000)
    arguments.add_argument("--attributes", type=int, default=1, choices=[1, 2])
    arguments.add_argument("--processes", type=int, default=1)
    arguments = arguments.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.shapes)
    squares = Parallel(arguments.processes)(
        delayed(pulls)(seed, arguments.events, arguments.attributes) for seed in seeds
    )
    width = np.sqrt(np.nanmean(squares, axis=0))
    error = np.nanstd(squares, axis=0) / np.isfinite(squares).sum(axis=0) ** 0.5 / (2 * width)
    print(f"{arguments.shapes} shapes from {arguments.first}, {arguments.events:,} events")
    for efficiency, row, errors in zip(EFFICIENCIES, width, error, strict=True):
        names = zip(("bulk", "first", "last"), row, errors, strict=True)
        words = ", ".join(f"{name} {x:.2f} ± {e:.2f}" for name, x, e in names)
        print(f"{efficiency:.0%} kept: {words}")


if __name__ == "__main__":
    main()
