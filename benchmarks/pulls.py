"""Is the error of the map right? Pulls against the exact CDF on random shapes.

    python benchmarks/pulls.py [--method spline] [--first 3000] [--shapes 20] [--events 110000]
                               [--attributes 1]

(transform - truth) / uncertainty at the exact cut that keeps 50, 10 and 1% of the background, at
400 values along the spectrum, each with as many events: their root mean square over all shapes, in
the bulk and in the first and the last twentieth of the events along the mass. One is right. Values
along one spectrum are correlated, so a shape says little by itself. Seeds below 1,000 are for
choosing.

Networks, which are too smooth for a narrow structure, are also held against a fit of another
sample, where what neither can follow drops out.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed
from shapes import exact_cut, grid, shape

from unsculpt import FlowDecorrelator, QuantileDecorrelator, SplineDecorrelator

EFFICIENCIES = (0.5, 0.1, 0.01)
POINTS, EDGE = 400, 20
METHODS = {
    "spline": SplineDecorrelator,
    "flow": lambda: FlowDecorrelator(replicas=20),
    "quantile": lambda: QuantileDecorrelator((0.5, 0.9, 0.99), continuous=True, replicas=20),
}
AGAINST = ("the truth", "another sample")


def pulls(seed: int, method: str, events: int, attributes: int) -> np.ndarray:
    """Return the mean squares of one shape, (against, efficiencies, [bulk, first, last])."""
    truth = shape(seed, attributes)
    model = METHODS[method]().fit(*truth.sample(events, seed))
    if attributes == 1:
        points = grid(truth, POINTS)
    else:
        points = truth.attributes(np.random.default_rng(seed).random((POINTS, 2)))
        points = points[np.argsort(points[:, 0])]
    another = None
    if method != "spline":
        another = METHODS[method]().fit(*truth.sample(events, [seed, 1]))
    found = np.full((len(AGAINST), len(EFFICIENCIES), 3), np.nan)
    for i, efficiency in enumerate(EFFICIENCIES):
        cut = exact_cut(truth, efficiency, points)
        exact = truth.cdf(cut, points)
        if np.abs(exact - 1 + efficiency).max() > 1e-6:
            continue  # an atom is in the way
        level, error = model.transform(cut, points), model.uncertainty(cut, points)
        found[0, i] = _mean_squares((level - exact) / error)
        if another:
            both = np.hypot(error, another.uncertainty(cut, points))
            found[1, i] = _mean_squares((level - another.transform(cut, points)) / both)
    print(seed, np.sqrt(found).round(2).tolist(), truth.name, flush=True)
    return found


def _mean_squares(pull: np.ndarray) -> list[float]:
    return [np.mean(part**2) for part in (pull[EDGE:-EDGE], pull[:EDGE], pull[-EDGE:])]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--method", default="spline", choices=METHODS)
    arguments.add_argument("--first", type=int, default=3000)
    arguments.add_argument("--shapes", type=int, default=20)
    arguments.add_argument("--events", type=int, default=110_000)
    arguments.add_argument("--attributes", type=int, default=1, choices=[1, 2])
    arguments.add_argument("--processes", type=int, default=1)
    arguments = arguments.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.shapes)
    squares = Parallel(arguments.processes)(
        delayed(pulls)(seed, arguments.method, arguments.events, arguments.attributes)
        for seed in seeds
    )
    print(f"{arguments.shapes} shapes from {arguments.first}, {arguments.events:,} events")
    against = AGAINST[:1] if arguments.method == "spline" else AGAINST
    for name, own in zip(against, np.swapaxes(squares, 0, 1), strict=False):
        width = np.sqrt(np.nanmean(own, axis=0))
        shapes = np.isfinite(own).sum(axis=0)
        error = np.nanstd(own, axis=0) / shapes**0.5 / (2 * width)
        print(f"against {name}:")
        for efficiency, row, errors in zip(EFFICIENCIES, width, error, strict=True):
            parts = zip(("bulk", "first", "last"), row, errors, strict=True)
            words = ", ".join(f"{part} {x:.2f} ± {e:.2f}" for part, x, e in parts)
            print(f"  {efficiency:.0%} kept: {words}")


if __name__ == "__main__":
    main()
