"""Is the verdict right? Cuts on maps of random shapes, tested on other events.

    python benchmarks/verdicts.py [--first 8200] [--shapes 40] [--fit 24000] [--test 30000]

A map of so many events, and cuts that keep 50, 10 and 1% by it: how often they are not flat within
the statistics of others (p < 0.01), and how often not with the error of the map either. The more
events test a map, the less the statistics alone excuse it. The error of the map should, but for a
response that the map is too smooth for. Seeds below 1,000 are for choosing.
"""

import argparse
import warnings

import numpy as np
from shapes import shape

from unsculpt import SplineDecorrelator
from unsculpt.metrics import TooFewEventsError
from unsculpt.metrics.independence import Deviations, FlatnessTest

EFFICIENCIES = (0.5, 0.1, 0.01)
CELLS, EVENTS = 50, 2_000  # as in the verdict of a report


def p_values(seed: int, fit: int, test: int) -> list[list[float]]:
    """Return the p-value of the statistics, and of statistics and map, at each cut."""
    truth = shape(seed)
    model = SplineDecorrelator().fit(*truth.sample(fit, [seed, 1]))
    score, mass = truth.sample(test, [seed, 2])
    flat, tested = model.transform(score, mass), FlatnessTest(mass)
    some = np.arange(0, test, max(test // EVENTS, 1))
    found = []
    for kept in EFFICIENCIES:
        cut = model.inverse_transform(np.full(len(some), 1 - kept), mass[some])
        off = Deviations(some, model.deviations(cut, mass[some]))
        try:
            both = tested(flat >= 1 - kept, CELLS), tested(flat >= 1 - kept, CELLS, off)
        except TooFewEventsError:
            found.append([np.nan, np.nan])
        else:
            found.append([test.p_value for test in both])
    return found


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--first", type=int, default=8200)
    arguments.add_argument("--shapes", type=int, default=40)
    arguments.add_argument("--fit", type=int, default=24_000)
    arguments.add_argument("--test", type=int, default=30_000)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")  # a few events lie beyond those of the fit
    seeds = range(given.first, given.first + given.shapes)
    found = np.array([p_values(seed, given.fit, given.test) for seed in seeds])
    print(
        f"{given.shapes} shapes from {given.first}, {given.fit:,} events fit, {given.test:,} test"
    )
    print("| kept | p < 0.01, statistics | p < 0.01, with map | p < 0.1 | p < 0.5 |")
    print("|---|---|---|---|---|")
    for kept, (plain, with_map) in zip(EFFICIENCIES, np.moveaxis(found, 0, 2), strict=True):
        known = np.isfinite(plain)
        shares = [
            np.mean(plain[known] < 0.01),
            *(np.mean(with_map[known] < p) for p in (0.01, 0.1, 0.5)),
        ]
        print(f"| {kept:.0%} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


if __name__ == "__main__":
    main()
