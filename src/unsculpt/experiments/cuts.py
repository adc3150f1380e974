"""Harder and harder cuts on one classifier, after a flow and after quantile regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt import FlowDecorrelator, QuantileDecorrelator
from unsculpt.decorrelators import Decorrelator
from unsculpt.experiments.evaluation import MASS_BINS
from unsculpt.experiments.store import Part
from unsculpt.metrics import jensen_shannon

Floats = NDArray[np.floating]
Counts = NDArray[np.int64]

REJECTIONS = (0.5, 0.9, 0.95, 0.99)
RANDOM_SPECTRA = 100


def cuts(
    fit_score: Floats,
    test_score: Floats,
    fit_mass: Floats,
    test_mass: Floats,
    *,
    runs: int,
    epochs: int,
) -> Part:
    """Decorrelate one score `runs` times by each method and cut at fixed background rejections.

    The divergence is that between the spectrum after a cut and a random sample of the background
    of the same size, as in the paper; the ideal one is between two random samples.

    Returns:
        A row for each method, rejection and run; and spectra after each cut: of the first run of
        each method, and the range of random ones.
    """
    random = np.random.default_rng(0)
    everything = np.histogram(test_mass, MASS_BINS)[0]
    raw = np.repeat(test_score[:, None], runs, axis=1)
    methods: dict[str, Decorrelator] = {
        "paper flow": FlowDecorrelator.paper(epochs=epochs),
        "our flow": FlowDecorrelator(),
        "quantile": QuantileDecorrelator.paper(quantiles=REJECTIONS, epochs=epochs),
    }
    # A column for every training: they differ in their first weights.
    columns = np.repeat(fit_score[:, None], runs, axis=1)
    levels = {"none": _uniform(raw)} | {
        name: method.fit(columns, fit_mass).transform(raw, test_mass)
        for name, method in methods.items()
    }
    rows = []
    arrays: dict[str, NDArray[np.generic]] = {"everything": everything}
    for method, level in levels.items():
        spectra = np.zeros((len(REJECTIONS), runs, len(everything)), dtype=np.int64)
        for i, rejection in enumerate(REJECTIONS):
            for run in range(runs):
                passes = level[:, run] >= rejection
                spectra[i, run] = np.histogram(test_mass[passes], MASS_BINS)[0]
                rows.append(
                    {
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


def _uniform(raw: Floats) -> Floats:
    """Return the score through its own distribution, so that one cut suits all methods."""
    rank = np.argsort(np.argsort(raw, axis=0, kind="stable"), axis=0, kind="stable")
    return (rank + 0.5) / len(raw)


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
