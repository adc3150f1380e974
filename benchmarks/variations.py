"""How much of the error of a map do a few variations hold? On the tagger toy.

    python benchmarks/variations.py [--events 110000]

The part of the variance that pairs hold by their `share_`, and the part of `uncertainty` squared at
the cuts that keep 50, 10 and 1% of the background, on average over the events.
"""

import argparse
import time

import numpy as np

from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys

PAIRS = (4, 16, 32, 60)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--events", type=int, default=110_000)
    toy = toys.tagger(arguments.parse_args().events, 0, seed=1)
    spline = SplineDecorrelator().fit(toy.score, toy.protected)
    mass = toy.protected[:5_000]
    cuts = [spline.threshold(efficiency, mass) for efficiency in (0.5, 0.1, 0.01)]
    errors = [(spline.uncertainty(cut, mass) ** 2).sum() for cut in cuts]
    start = time.perf_counter()
    pairs = spline.variations(max(PAIRS))
    print(f"{max(PAIRS)} pairs in {time.perf_counter() - start:.1f} s")
    held, shares = np.zeros((max(PAIRS), len(cuts))), [up.share_ for up, _ in pairs]
    for i in range(max(PAIRS)):
        up, down = pairs.pop(0)
        for j, (cut, error) in enumerate(zip(cuts, errors, strict=True)):
            moved = (up.transform(cut, mass) - down.transform(cut, mass)) / 2
            held[i, j] = (moved**2).sum() / error
    for n in PAIRS:
        at_cuts = ", ".join(f"{part:.0%}" for part in held[:n].sum(axis=0))
        print(f"{n} pairs: {sum(shares[:n]):.0%} of the variance; at 50, 10, 1% kept: {at_cuts}")


if __name__ == "__main__":
    main()
