"""Background from three control regions: two scores that are independent on background.

Cuts on both scores divide the events into A (both pass), B (only the first passes), C (only the
second passes) and D (neither passes). If the scores are independent, A holds B·C/D events. A score
decorrelated from the other one, `SplineDecorrelator().fit(second, first)`, is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask, check_fraction, column, weight_column
from unsculpt.metrics.separation import highest_cuts

REGIONS = "ABCD"


@dataclass(frozen=True)
class Regions:
    """Events in the four regions.

    Attributes:
        sums: their weights in A, B, C and D, (4,).
        variances: of these sums, (4,).
        map_error: of `predicted`, from the finite sample a decorrelator was fitted on.
    """

    sums: Floats
    variances: Floats
    map_error: float = 0.0

    @property
    def observed(self) -> float:
        """The weight in A."""
        return float(self.sums[0])

    @property
    def observed_error(self) -> float:
        """The statistical error of `observed`."""
        return float(np.sqrt(self.variances[0]))

    @property
    def predicted(self) -> float:
        """What the other regions say is in A: B·C/D."""
        _, b, c, d = self.sums
        return float(b * c / d)

    @property
    def predicted_error(self) -> float:
        """The error of `predicted`: of the three counts, and of the map if it is known."""
        relative = (self.variances[1:] / self.sums[1:] ** 2).sum()
        return float(np.hypot(self.predicted * np.sqrt(relative), self.map_error))

    @property
    def ratio(self) -> float:
        """Observed over predicted: one if the method closes."""
        return self.observed / self.predicted

    @property
    def ratio_error(self) -> float:
        """The error of `ratio`."""
        return float(np.hypot(self.observed_error, self.ratio * self.predicted_error)) / abs(
            self.predicted
        )

    @property
    def pull(self) -> float:
        """How many errors observed and predicted are apart."""
        apart = self.observed - self.predicted
        return apart / float(np.hypot(self.observed_error, self.predicted_error))


def closure(
    first: ArrayLike,
    second: ArrayLike,
    cuts: tuple[float, float],
    *,
    sample_weight: ArrayLike | None = None,
    variations: Sequence[tuple[ArrayLike, ArrayLike]] = (),
) -> Regions:
    """Count background in the four regions, and compare A with what the others predict.

    Args:
        first: The first score, shape (n,).
        second: The second score, independent of the first on background, shape (n,).
        cuts: On the first and the second score; an event at the cut passes.
        sample_weight: Event weights, negative ones included.
        variations: The second score from pairs of varied models, up and down
            (`SplineDecorrelator.variations`). They give the prediction the error of the map.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> found = closure(rng.random(10_000), rng.random(10_000), (0.9, 0.8))
        >>> print(f"{found.observed:.0f} observed, {found.predicted:.0f} predicted")
        209 observed, 191 predicted
    """
    one, two, weight = _events(first, second, sample_weight)
    found = _count(one >= cuts[0], two >= cuts[1], weight)
    _check_regions(found, cuts)
    pairs = [[column(s, "variations", len(one), "first") for s in pair] for pair in variations]
    ends = [[_count(one >= cuts[0], s >= cuts[1], weight).predicted for s in p] for p in pairs]
    moves = [(up - down) / 2 for up, down in ends]
    return Regions(found.sums, found.variances, float(np.linalg.norm(moves)))


@dataclass(frozen=True)
class ClosureMap:
    """Closure at many pairs of cuts; rows are cuts on the first score, columns on the second.

    Attributes:
        first_cuts: on the first score, (r,).
        second_cuts: on the second score, (c,).
        ratio: observed over predicted, (r, c); NaN where a region is empty.
        error: of the ratio, (r, c).
        pull: how many errors observed and predicted are apart, (r, c).
    """

    first_cuts: Floats
    second_cuts: Floats
    ratio: Floats
    error: Floats
    pull: Floats


def closure_map(
    first: ArrayLike,
    second: ArrayLike,
    *,
    kept: ArrayLike = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01),
    sample_weight: ArrayLike | None = None,
) -> ClosureMap:
    """Compare A with what the others predict, at all pairs of cuts that keep round fractions.

    Neighbours share events, so their pulls go together.

    Args:
        first: The first score, shape (n,).
        second: The second score, shape (n,).
        kept: Fractions of the events that a cut keeps.
        sample_weight: Event weights, negative ones included.
    """
    one, two, weight = _events(first, second, sample_weight)
    fractions = column(kept, "kept")
    for fraction in fractions:
        check_fraction(float(fraction), "kept")
    first_cuts, second_cuts = (highest_cuts(score, weight, fractions) for score in (one, two))
    shape = len(fractions), len(fractions)
    ratio, error, pull = (np.full(shape, np.nan) for _ in range(3))
    for i, low in enumerate(first_cuts):
        for j, other in enumerate(second_cuts):
            found = _count(one >= low, two >= other, weight)
            if (found.sums[1:] > 0).all():
                ratio[i, j], error[i, j], pull[i, j] = found.ratio, found.ratio_error, found.pull
    return ClosureMap(first_cuts, second_cuts, ratio, error, pull)


def contamination(
    first: ArrayLike,
    second: ArrayLike,
    labels: ArrayLike,
    cuts: tuple[float, float],
    *,
    sample_weight: ArrayLike | None = None,
) -> tuple[Floats, float]:
    """Return the share of signal in A, B, C and D, and by how much it raises the prediction.

    Args:
        first: The first score, shape (n,).
        second: The second score, shape (n,).
        labels: 1 for signal, 0 for background.
        cuts: On the first and the second score.
        sample_weight: Event weights: they say how much signal there is.

    Returns:
        The signal's share of the weight in each region, (4,), and the prediction from all events
        over the one from background alone, minus one.
    """
    one, two, weight = _events(first, second, sample_weight)
    signal = column(labels, "labels", len(one), "first") == 1
    passing = one >= cuts[0], two >= cuts[1]
    everything = _count(*passing, weight)
    background = _count(*passing, np.where(signal, 0, weight))
    _check_regions(background, cuts)
    share = 1 - background.sums / everything.sums
    return share, everything.predicted / background.predicted - 1


def pyhf_workspace(regions: Regions, signal: ArrayLike | None = None) -> dict[str, Any]:
    """Return a model for pyhf in which A is tied to the other regions: a fit gives A's background.

    Four channels of one bin. The background of D is a free number, B and C are that number times
    a factor each, and A is times both. `regions` are the counts in data; those in A only count for
    the fit of `mu`.

    Args:
        regions: The counts, as `closure` returns them, unweighted.
        signal: Expected signal in A, B, C and D, scaled by `mu`; without it, none is fitted for.
    """
    expected = np.zeros(4) if signal is None else column(signal, "signal", 4, "the regions")
    _, b, c, d = regions.sums
    # Where a fit starts: the factors are one at what the counts themselves say.
    nominal = {"A": regions.predicted, "B": b, "C": c, "D": d}
    factors = {"A": ("d", "b", "c"), "B": ("d", "b"), "C": ("d", "c"), "D": ("d",)}
    channels = []
    for name, content in zip(REGIONS, expected, strict=True):
        scaled = [{"name": f"scale_{f}", "type": "normfactor", "data": None} for f in factors[name]]
        samples = [{"name": "background", "data": [float(nominal[name])], "modifiers": scaled}]
        mu = [{"name": "mu", "type": "normfactor", "data": None}]
        samples.insert(0, {"name": "signal", "data": [float(content)], "modifiers": mu})
        channels.append({"name": name, "samples": samples})
    parameters = [
        {"name": f"scale_{f}", "bounds": [[1e-6, 1e3]], "inits": [1.0]} for f in ("d", "b", "c")
    ]
    counts = zip(REGIONS, regions.sums, strict=True)
    return {
        "version": "1.0.0",
        "channels": channels,
        "observations": [{"name": name, "data": [float(count)]} for name, count in counts],
        "measurements": [{"name": "abcd", "config": {"poi": "mu", "parameters": parameters}}],
    }


def _events(
    first: ArrayLike, second: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    one = column(first, "first")
    two = column(second, "second", len(one), "first")
    return one, two, weight_column(sample_weight, len(one), "first")


def _count(one: Mask, two: Mask, weight: Floats) -> Regions:
    """Sum weights and their squares in A, B, C and D."""
    region = 2 * ~one + ~two  # A is 0, B 1, C 2, D 3
    sums: Floats = np.bincount(region, weight, minlength=4).astype(float)
    return Regions(sums, np.bincount(region, weight**2, minlength=4).astype(float))


def _check_regions(found: Regions, cuts: tuple[float, float]) -> None:
    for name, total in list(zip(REGIONS, found.sums, strict=True))[1:]:
        if total <= 0:
            raise ValueError(
                f"region {name} of the cuts {cuts[0]:g} and {cuts[1]:g} holds a weight of "
                f"{total:g}; a prediction needs events in B, C and D, so move the cuts"
            )
