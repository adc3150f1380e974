"""Harder and harder cuts on one classifier, after flows, our splines and quantile regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt import QuantileDecorrelator
from unsculpt.metrics import jensen_shannon
from unsculpt.study.evaluation import MASS_BINS, Values
from unsculpt.study.folder import Arrays, Part
from unsculpt.study.sample import Splits
from unsculpt.study.tasks import Task

Counts = NDArray[np.int64]

REJECTIONS = (0.5, 0.9, 0.95, 0.99)
RANDOM_SPECTRA = 100


def cuts(task: Task, jets: Splits, disco: Arrays, paper: Arrays, ours: Arrays) -> Part:
    """Cut one score, decorrelated by each method, at fixed background rejections.

    Networks are trained many times. Our splines, like the score itself, come out the same every
    time: they are held against as many random samples.

    The divergence is that between the spectrum after a cut and a random sample of the background
    of the same size, as in the paper; the ideal one is between two random samples.

    Returns:
        A row for each method, rejection and run; and spectra after each cut: of the first run of
        each method, and the range of random ones.
    """
    (runs,), (model,) = task.options, task.models
    which, flat = (task.needs[i].kept.index(model) for i in (0, 2))
    fit, test = jets.train.label == 0, jets.test.label == 0
    raw, test_mass = disco["test"][which][test], jets.test.mass[test]
    # A column for every training: they differ in their first weights.
    regression = QuantileDecorrelator.paper(quantiles=REJECTIONS, epochs=task.epochs)
    regression.fit(np.tile(disco["fit"][which], (runs, 1)).T, jets.train.mass[fit])
    levels = {
        "none": np.tile(_uniform(raw), (runs, 1)),
        "paper flow": paper["runs"],
        "ours": np.tile(ours["test"][flat][test], (runs, 1)),
        "quantile": regression.transform(np.tile(raw, (runs, 1)).T, test_mass).T,
    }
    random = np.random.default_rng(0)
    everything = np.histogram(test_mass, MASS_BINS)[0]
    rows = []
    arrays: dict[str, NDArray[np.generic]] = {"everything": everything}
    for method, level in levels.items():
        spectra = np.zeros((len(REJECTIONS), runs, len(everything)), dtype=np.int64)
        for i, rejection in enumerate(REJECTIONS):
            for run in range(runs):
                passes = level[run] >= rejection
                spectra[i, run] = np.histogram(test_mass[passes], MASS_BINS)[0]
                rows.append(
                    {
                        "family": task.family,
                        "decorrelation": method,
                        "rejection": rejection,
                        "seed": run,
                        "passing": float(passes.mean()),
                    }
                    | _beside_random(spectra[i, run], everything, rejection, random)
                )
        arrays[f"spectra {method}"] = spectra[:, 0]
    arrays["random"] = np.stack(
        [_random(everything, rejection, RANDOM_SPECTRA, random) for rejection in REJECTIONS]
    )
    return Part(rows, arrays)


def _uniform(raw: Values) -> Values:
    """Return the score through its own distribution, so that one cut suits all methods."""
    return (np.argsort(np.argsort(raw)) + 0.5) / len(raw)


def _beside_random(
    spectrum: Counts, everything: Counts, rejection: float, random: np.random.Generator
) -> dict[str, float]:
    """Return 1/JSD to a random sample of the same size, and that of two of the nominal size."""
    sample = random.multivariate_hypergeometric(everything, int(spectrum.sum()))
    return {
        "inverse_jsd": 1 / jensen_shannon(spectrum, sample),
        "ideal": 1 / jensen_shannon(*_random(everything, rejection, 2, random)),
    }


def _random(
    everything: Counts, rejection: float, draws: int, random: np.random.Generator
) -> Counts:
    """Return spectra of random selections, (draws, bins)."""
    passing = round((1 - rejection) * everything.sum())
    return random.multivariate_hypergeometric(everything, passing, size=draws)
