"""Quantile regression at 50, 90, 95 and 99%: does a cut sculpt, even where its threshold is off?

    python benchmarks/quantiles.py [--recipe default|paper] [--seen]

The multi-cut study of the paper (its figure on several rejections) on the shipped jets and the
boosted trees of `unsculpt demo`. Ten networks or ensembles of other seeds regress the quantiles on
QCD jets that the trees have not seen. On the test jets: the JSD between the mass of the background
that passes and of a random sample of the same size, mean over ten samples; beside it what two
random samples of that size have, which is the bound, and the raw score at the same rejections.
Coverage: the fraction of background really below the threshold, in all and in ten bins of mass.
With --seen the regression is fitted on the QCD jets that the trees have learned from, whose scores
are lower than those of others: its thresholds are then off, and known to be.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from unsculpt import QuantileDecorrelator, metrics
from unsculpt.datasets import load_jets

RUNS, SAMPLES, BOUNDS = 10, 10, 100
EDGES = np.linspace(50, 300, 51)
COVERAGE_BINS = np.array([50, 60, 70, 80, 90, 100, 120, 140, 170, 210, 300])


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--recipe", choices=["default", "paper"], default="default")
    arguments.add_argument("--seen", action="store_true")
    arguments = arguments.parse_args()
    warnings.filterwarnings("ignore", "protected is outside")  # a few jets past the last mass

    score, mass, test_score, test_mass = jets(arguments.seen)
    new = QuantileDecorrelator.paper if arguments.recipe == "paper" else QuantileDecorrelator
    start = time.perf_counter()
    # Ten times the same score: ten runs, trained in one program.
    model = new(seed=0).fit(np.tile(score[:, None], RUNS), mass)
    seconds = time.perf_counter() - start
    print(f"{arguments.recipe}: {RUNS} runs on {len(score):,} QCD jets in {seconds:.0f} s")

    repeated = np.tile(test_score[:, None], RUNS)
    in_all = model.coverage(repeated, test_mass, bins=[0, 1e4]).fraction[0]
    in_bins = model.coverage(repeated, test_mass, bins=COVERAGE_BINS)
    print("fraction below, mean over the runs, in bins of mass")
    for name, fractions in zip(in_bins.bins, in_bins.fraction.mean(axis=1), strict=True):
        print(f"{name:>12}", *(f"{fraction:8.4f}" for fraction in fractions))
    rng = np.random.default_rng(0)
    print("quantile   below (runs)                JSD (runs)          bound (90%)     raw")
    for i, quantile in enumerate(model.quantiles):
        selected = model.select(repeated, test_mass, quantile)
        runs = [sculpting(test_mass, test_mass[s], rng, SAMPLES).mean() for s in selected.T]
        cut = np.quantile(test_score, quantile)
        raw = sculpting(test_mass, test_mass[test_score >= cut], rng, SAMPLES).mean()
        size = round(np.mean(selected.sum(axis=0)))
        bound = [
            sculpting(test_mass, rng.choice(test_mass, size, replace=False), rng, 1)[0]
            for _ in range(BOUNDS)
        ]
        print(
            f"{quantile:8.2f} {spread(in_all[:, i], '.4f')}  "
            f"{spread(runs, '.2e')}  {np.mean(bound):.2e} "
            f"({np.quantile(bound, 0.05):.1e} to {np.quantile(bound, 0.95):.1e})  {raw:.2e}  "
            f"JSD/bound {np.mean(runs) / np.mean(bound):.2f}, raw/bound {raw / np.mean(bound):.0f}"
        )


def jets(seen: bool) -> tuple[np.ndarray, ...]:
    """Scores and masses of QCD jets, to fit on (the trees have seen them or not) and to test on."""
    train, test = load_jets("train"), load_jets("test")
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first
    fit_on = ~aside & (train.label == 0) if seen else aside
    tagger = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):
        tagger.fit(train.features[~aside], train.label[~aside])
        qcd = test.label == 0
        scores = [
            tagger.predict_proba(features)[:, 1]
            for features in (train.features[fit_on], test.features[qcd])
        ]
    return scores[0], train.mass[fit_on], scores[1], test.mass[qcd]


def sculpting(
    mass: np.ndarray, selected: np.ndarray, rng: np.random.Generator, samples: int
) -> np.ndarray:
    """The JSD of the selected masses with random samples of all, of the same size."""
    spectrum = np.histogram(selected, EDGES)[0]
    return np.array(
        [
            metrics.jensen_shannon(
                spectrum, np.histogram(rng.choice(mass, len(selected), replace=False), EDGES)[0]
            )
            for _ in range(samples)
        ]
    )


def spread(values: list[float] | np.ndarray, digits: str) -> str:
    """The mean, and the smallest and largest in brackets, as in the paper's figure."""
    return f"{np.mean(values):{digits}} ({np.min(values):{digits}} to {np.max(values):{digits}})"


if __name__ == "__main__":
    main()
