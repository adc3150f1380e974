"""What a blinded window costs: how far off is the map in the middle of it?

    python benchmarks/window.py

A spline of 110,000 events of the tagger toy, with and without those from 70 to 100 GeV, where its
response has a peak. Root mean square of the distance to the exact score from 83 to 87 GeV, and the
error that the spline says it has.
"""

import warnings

import numpy as np

from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys


def main() -> None:
    warnings.filterwarnings("ignore")
    toy, test = toys.tagger(110_000, 0, seed=1), toys.tagger(500_000, 0, seed=2)
    beside = (toy.protected < 70) | (toy.protected > 100)
    for name, rows in (("all events", slice(None)), ("without the window", beside)):
        spline = SplineDecorrelator().fit(toy.score[rows], toy.protected[rows])
        middle = np.abs(test.protected - 85) < 2
        score, mass = test.score[middle], test.protected[middle]
        off = spline.transform(score, mass) - test.cdf(score, mass)
        said = spline.uncertainty(score, mass)
        print(f"{name}: off by {rms(off):.3f}, uncertainty {rms(said):.3f}")


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


if __name__ == "__main__":
    main()
