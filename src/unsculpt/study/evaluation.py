"""The numbers of the study for one score."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from unsculpt import metrics
from unsculpt.devices import cores
from unsculpt.inputs import Floats
from unsculpt.study.pass_fraction import chi2_per_bin

Values = NDArray[np.floating]
"""Single precision, as jets and networks have it, or double."""

MASS_BINS = np.linspace(50, 300, 51)
WINDOW = (70.0, 100.0)
WINDOW_BINS = np.linspace(*WINDOW, 51)
REGIONS = (("", None, MASS_BINS), ("_window", WINDOW, WINDOW_BINS))
TENTHS = 10


def evaluate(
    score: Values, label: NDArray[np.integer], mass: Values, weight: Values | None = None
) -> dict[str, float]:
    """Return separation and sculpting at half of the signal, beside what is ideal.

    Inclusive and for background between 70 and 100 GeV; there the names end in `_window`. With
    `chi2_merged`, inclusive, in which sparse bins of mass count no more than others.
    """
    events = (score, label, mass)
    numbers = {
        "auc": metrics.auc(score, label, sample_weight=weight),
        "expected_auc": metrics.expected_auc(*events, bins=20, sample_weight=weight),
    }
    for end, window, bins in REGIONS:
        point = metrics.working_point(*events, bins=bins, window=window, sample_weight=weight)
        numbers |= {
            f"r50{end}": point.rejection,
            f"inverse_jsd50{end}": point.inverse_jsd,
            f"ideal{end}": point.ideal.mean,
            f"ideal_spread{end}": point.ideal.spread,
        }
    background = label == 0
    passes = score[background] >= metrics.threshold(score, label, sample_weight=weight)
    weight = None if weight is None else weight[background]
    return numbers | {"chi2_merged": chi2_per_bin(mass[background], passes, MASS_BINS, weight)}


def evaluate_all(scores: Values, label: NDArray[np.integer], mass: Values) -> list[dict[str, Any]]:
    """Evaluate every row of a table of scores, (k, n), on all cores.

    With `inverse_jsd50_without` each tenth of the jets in turn: see `jackknife`.
    """
    # In processes: most of it is Python's own work on short arrays.
    return list(Parallel(cores())(delayed(_with_tenths)(score, label, mass) for score in scores))


def _with_tenths(score: Values, label: NDArray[np.integer], mass: Values) -> dict[str, Any]:
    tenth = np.arange(len(score)) % TENTHS
    without = [
        metrics.inverse_jsd(*(x[tenth != i] for x in (score, label, mass)), bins=MASS_BINS)
        for i in range(TENTHS)
    ]
    return {**evaluate(score, label, mass), "inverse_jsd50_without": without}


def jackknife(without: Floats) -> Floats:
    """Return the error that the test jets cause, from values without each tenth of them, (n, 10).

    These have most jets in common, so they scatter less than independent samples would. Where a
    divergence is mostly noise, near the ideal, the error is up to a third too large.
    """
    return np.asarray(without.std(axis=1) * (TENTHS - 1) ** 0.5)
