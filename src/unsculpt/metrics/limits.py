"""How little sculpting is possible with a finite number of events."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, whole_number
from unsculpt.metrics._inputs import Window
from unsculpt.metrics.sculpting import CutBackground, cut_background, jensen_shannon


class Ideal(NamedTuple):
    """Mean and spread (standard deviation) of a metric over random selections."""

    mean: float
    spread: float


def ideal_inverse_jsd(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    efficiency: float = 0.5,
    bins: int | ArrayLike = 50,
    window: Window | None = None,
    base: float = math.e,
    sample_weight: ArrayLike | None = None,
    repeats: int = 100,
    seed: int = 0,
) -> Ideal:
    """Return what `inverse_jsd` gives when the background is selected at random.

    The events, the histogram and the number of events that pass (with weights, the weight that
    passes) are those of `inverse_jsd` called with the same arguments; which events pass is
    drawn anew `repeats` times.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        bins: As for `jsd`.
        window: As for `jsd`.
        base: Base of the logarithm.
        sample_weight: Event weights, negative ones included.
        repeats: Number of random selections.
        seed: Seed of the random selections.

    Returns:
        Mean and spread of the inverse divergence.

    Examples:
        >>> import numpy as np
        >>> random = np.random.default_rng(0)
        >>> labels = np.arange(20_000) % 2
        >>> ideal = ideal_inverse_jsd(random.random(20_000), labels, random.random(20_000))
        >>> bool(abs(ideal.mean / (8 / 47 / (1 / 5000 + 1 / 5000)) - 1) < 0.1)
        True
    """
    repeats = whole_number(repeats, "repeats")
    background = cut_background(
        scores,
        labels,
        protected,
        efficiency=efficiency,
        bins=bins,
        window=window,
        sample_weight=sample_weight,
    )
    random = np.random.default_rng(seed)
    draw = _draw_events if sample_weight is None else _draw_weight
    pairs = draw(background, repeats, random)
    divergences = np.array([jensen_shannon(*pair, base=base) for pair in pairs])
    # Few events in few bins can agree exactly: then the mean is infinite and has no spread.
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / divergences
        return Ideal(float(inverse.mean()), float(inverse.std()))


def _draw_events(
    background: CutBackground, repeats: int, random: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield passing and failing spectra: only the bin counts matter, so only they are drawn."""
    counts = np.bincount(background.bins, minlength=background.n_bins)
    n_pass = int(background.passes.sum())
    for passing in random.multivariate_hypergeometric(counts, n_pass, size=repeats):
        yield passing, counts - passing


def _draw_weight(
    background: CutBackground, repeats: int, random: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield passing and failing spectra of shuffled events that pass up to the same weight."""
    n = len(background.weight)
    target = background.weight[background.passes].sum()
    everything = background.spectrum(np.ones(n, dtype=bool))
    for _ in range(repeats):
        order = random.permutation(n)
        # Negative weights make the sum fall now and then: the first time it gets there counts.
        reached = np.maximum.accumulate(np.cumsum(background.weight[order]))
        n_pass = min(int(np.searchsorted(reached, target)) + 1, n - 1)
        passing = background.spectrum(order[:n_pass])
        yield passing, everything - passing
