"""The end of the chain: what a tagger is worth to a search for a bump."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from unsculpt import metrics
from unsculpt.devices import cores
from unsculpt.inputs import Floats, Mask
from unsculpt.study.bump_hunt import (
    EDGES,
    global_significance,
    pseudo_experiments,
    window_bins,
)
from unsculpt.study.evaluation import Values
from unsculpt.study.folder import Arrays, Part
from unsculpt.study.sample import Splits
from unsculpt.study.tasks import Task

EFFICIENCIES = (0.2, 0.35, 0.5, 0.65)
# An experiment holds a fifth of the simulated background, so that the noise of the simulation
# is less than half of its own; and so much signal that without a tagger it is one deviation.
LUMINOSITY = 0.2
WITHOUT_TAGGER = 1.0


def bump_search(task: Task, jets: Splits, *needed: Arrays) -> Part:
    """Hunt for a bump after cuts on four taggers and after a random selection.

    Returns:
        A row for each tagger and signal efficiency: `spurious`, the mean significance found
        without signal; `expected`, that with signal; `claimed`, what pyBumpHunter claims
        without signal.
    """
    scores = {
        family + ("" if other.step == "classifier" else ", ours"): arrays["test"][i]
        for other, arrays in zip(task.needs, needed, strict=True)
        for i, (family, alpha, seed) in enumerate(other.kept)
        if (family, alpha, seed) in task.models
    }
    label, mass = jets.test.label, jets.test.mass.astype(float)
    inside = window_bins(metrics.signal_window(mass[label == 1]))
    (toys,) = task.options
    hunts = []
    for efficiency in EFFICIENCIES:
        passing = {
            name: score >= metrics.threshold(score, label, efficiency=efficiency)
            for name, score in scores.items()
        }
        # What no decorrelation can beat: as much rejection as DisCo with ours, blind to the mass.
        passing["random"] = _random_like(passing["DisCo, ours"], label)
        for name, passes in passing.items():
            selection = {"family": task.family, "tagger": name, "efficiency": efficiency}
            hunts.append((selection, *spectra(mass, label, passes, inside)))
    # In processes: a fit is Python's own work on short arrays.
    found = Parallel(cores())(delayed(_hunt)(*hunt[1:], inside, toys) for hunt in hunts)
    return Part([selection | row for (selection, *_), row in zip(hunts, found, strict=True)], {})


def _hunt(background: Floats, signal: Floats, inside: Mask, toys: int) -> dict[str, float]:
    """Hunt in many experiments of one selection, without signal and with it."""
    without = pseudo_experiments(background, inside, toys, seed=0)
    with_signal = pseudo_experiments(background + signal, inside, toys, seed=1)
    return {
        "spurious": float(without.mean()),
        "spurious_error": float(without.std() / np.sqrt(toys)),
        "expected": float(with_signal.mean()),
        "claimed": global_significance(background, inside),
    }


def spectra(
    mass: Values, label: NDArray[np.integer], passes: Mask, inside: Mask
) -> tuple[Floats, Floats]:
    """Return the expected spectra of background and signal of one experiment after a cut."""
    every = LUMINOSITY * np.histogram(mass[label == 0], EDGES)[0]
    share = np.histogram(mass[label == 1], EDGES)[0][inside].sum() / np.sum(label == 1)
    injected = WITHOUT_TAGGER * np.sqrt(every[inside].sum()) / share
    background = LUMINOSITY * np.histogram(mass[(label == 0) & passes], EDGES)[0]
    signal = np.histogram(mass[(label == 1) & passes], EDGES)[0] / np.sum(label == 1)
    return background, injected * signal


def _random_like(passes: Mask, label: NDArray[np.integer]) -> Mask:
    """Return a selection of as many events of each class, at random."""
    random, chosen = np.random.default_rng(0), np.zeros(len(label), dtype=bool)
    for one in (0, 1):
        rows = np.flatnonzero(label == one)
        chosen[random.choice(rows, int(passes[rows].sum()), replace=False)] = True
    return chosen
