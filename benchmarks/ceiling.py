"""How close to ideal could somebody get who knows the formula of a shape?

    python benchmarks/ceiling.py [--first 6000] [--shapes 24] [--events 110000]

The simple shapes of benchmarks/shapes.py have five parameters: place, width and height of the
response, place and spread of the noise. The Fisher information of the events says how well the best
fit of these five knows them; draws from that error become cuts, which are judged as in
benchmarks/estimators.py. A method that has to find the formula as well can only do worse.
"""

import argparse

import numpy as np
from scipy.special import expit
from shapes import exact_cut, grid, ratio_to_ideal, simple

EFFICIENCIES = (0.5, 0.1, 0.01)
STEPS = np.array([1e-2, 1e-2, 1e-3, 1e-3, 1e-3])  # to differentiate by the parameters
THRESHOLDS = expit(np.linspace(-14, 18, 1201))
NEVER = 1e-12


def covariance(seed: int, events: int) -> np.ndarray:
    """Return how well the best fit knows the parameters of a shape, (5, 5)."""
    points = grid(simple(seed), 2_000)

    def shares(moved: np.ndarray) -> np.ndarray:
        shape = simple(seed, moved=moved)
        cdf = np.array([shape.cdf(np.full(len(points), s), points) for s in THRESHOLDS])
        return np.diff(cdf, axis=0)

    share = np.maximum(shares(np.zeros(5)), NEVER)
    slopes = [
        (shares(step) - shares(-step)) / (2 * size)
        for step, size in zip(np.diag(STEPS), STEPS, strict=True)
    ]
    information = [[(a * b / share).sum(axis=0).mean() for a in slopes] for b in slopes]
    return np.linalg.inv(events * np.array(information))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=6000)
    parser.add_argument("--shapes", type=int, default=24)
    parser.add_argument("--events", type=int, default=110_000)
    parser.add_argument("--draws", type=int, default=20)
    arguments = parser.parse_args()

    table = []
    for seed in range(arguments.first, arguments.first + arguments.shapes):
        truth = simple(seed)
        points = grid(truth, 5_000)
        fits = np.random.default_rng(seed).multivariate_normal(
            np.zeros(5), covariance(seed, arguments.events), arguments.draws
        )
        ratios = [
            [
                ratio_to_ideal(truth, exact_cut(simple(seed, moved=fit), e, points), points)
                for e in EFFICIENCIES
            ]
            for fit in fits
        ]
        table.append(np.mean(ratios, axis=0))
        print(seed, table[-1].round(3), truth.name, flush=True)
    by_cut, by_shape = (np.mean(table, axis=axis) for axis in (0, 1))
    print(
        f"{arguments.shapes} shapes from seed {arguments.first}: {by_cut.round(3)}, "
        f"all {by_shape.mean():.3f}, worst {by_shape.min():.3f}"
    )


if __name__ == "__main__":
    main()
