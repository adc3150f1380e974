"""How many events does a fit need?

    python benchmarks/how_many.py [--first 1000] [--shapes 20] [--processes 1]

Splines are fitted to 1,000 to 1,000,000 events of each shape of benchmarks/shapes.py and cut at 50,
10 and 1% of the background. Two numbers, both exact, as the truth is known:

- *off*: the root mean square over the spectrum of (fraction kept / fraction asked - 1);
- *hidden among*: the number of events in 50 bins of mass whose own fluctuations are as large as
  what the cut sculpts. Beyond it the sculpting of the map is seen first.

Medians over the shapes, and the quarter that is worst. Efficiencies that an atom of the score makes
impossible are left out.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from shapes import TEST_EVENTS, exact_cut, grid, kept, ratio_to_ideal, shape

from unsculpt import SplineDecorrelator

SIZES = 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000
EFFICIENCIES = 0.5, 0.1, 0.01


def measure(seed):
    """Return both numbers of one shape, by size and efficiency."""
    warnings.simplefilter("ignore")  # few events of a hard shape are not followed, and say so
    truth = shape(seed)
    points = grid(truth, 5_000)
    found = np.full((2, len(SIZES), len(EFFICIENCIES)), np.nan)
    for i, size in enumerate(SIZES):
        model = SplineDecorrelator().fit(*truth.sample(size, seed))
        for j, efficiency in enumerate(EFFICIENCIES):
            if ratio_to_ideal(truth, exact_cut(truth, efficiency, points), points) < 0.99:
                continue
            cut = model.threshold(efficiency, points)
            ratio = ratio_to_ideal(truth, cut, points)
            off = kept(truth, cut, points) / efficiency - 1
            found[:, i, j] = np.sqrt(np.mean(off**2)), TEST_EVENTS * ratio / (1 - ratio)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--first", type=int, default=1000)
    arguments.add_argument("--shapes", type=int, default=20)
    arguments.add_argument("--processes", type=int, default=1)
    arguments = arguments.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.shapes)
    found = Parallel(arguments.processes)(delayed(measure)(seed) for seed in seeds)
    off, hidden = np.array(found).swapaxes(0, 1)
    print(f"{arguments.shapes} shapes from seed {arguments.first}, median (worst quarter)")
    for j, efficiency in enumerate(EFFICIENCIES):
        print(f"{efficiency:.0%} kept")
        for i, size in enumerate(SIZES):
            middle, worst = np.nanquantile(off[:, i, j], [0.5, 0.75])
            among, fewest = np.nanquantile(hidden[:, i, j], [0.5, 0.25])
            print(
                f"  {size:9,}  off by {middle:.1%} ({worst:.1%})  hidden among {among:,.0f} "
                f"({fewest:,.0f}), {among / size:.1f} ({fewest / size:.1f}) a fitted event"
            )


if __name__ == "__main__":
    main()
