"""Background from three control regions: two scores that are independent on background.

Cuts on both scores divide the events into A (both pass), B (only the first passes), C (only the
second passes) and D (neither passes). If the scores are independent, A holds B·C/D events. A score
decorrelated from the other one, `SplineDecorrelator().fit(second, first)`, is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import Floats, Mask, check_fraction, column, event_weights, not_empty
from unsculpt.metrics.separation import highest_cuts

REGIONS = "ABCD"


@dataclass(frozen=True)
class Regions:
    """Counts of events in the four regions.

    Attributes:
        sums: sums of the event weights in A, B, C and D, (4,).
        variances: variances of these sums, (4,).
        map_error: relative error of `predicted` from the error of the map: a decorrelator that was
            fitted on a finite sample leaves the two scores a little dependent.
    """

    sums: Floats
    variances: Floats
    map_error: float = 0.0

    @property
    def observed(self) -> float:
        """The sum of the weights in A."""
        return float(self.sums[0])

    @property
    def observed_error(self) -> float:
        """The statistical error of `observed`; of an empty A, that of what is predicted."""
        return float(np.sqrt(self.variances[0])) or self._scatter

    @property
    def predicted(self) -> float:
        """The prediction for A from the other regions, B·C/D."""
        _, b, c, d = self.sums
        return float(b * c / d)

    @property
    def predicted_error(self) -> float:
        """The error of `predicted` from the three counts, and from the map if that is known."""
        relative = (self.variances[1:] / self.sums[1:] ** 2).sum()
        return abs(self.predicted) * float(np.hypot(np.sqrt(relative), self.map_error))

    @property
    def ratio(self) -> float:
        """Observed over predicted, which is one if the method closes."""
        return self.observed / self.predicted

    @property
    def ratio_error(self) -> float:
        """The error of `ratio`."""
        return float(np.hypot(self.observed_error, self.ratio * self.predicted_error)) / abs(
            self.predicted
        )

    @property
    def pull(self) -> float:
        """Observed minus predicted, divided by the error of the difference.

        The error of A is that of what is predicted there: with its own an A of few events would be
        far off, as none where two are expected has no error.
        """
        apart = self.observed - self.predicted
        return apart / float(np.hypot(self._scatter, self.predicted_error))

    @property
    def _scatter(self) -> float:
        """By how much A scatters around its prediction, with the weights it has, or others have."""
        which = slice(0, 1) if self.sums[0] > 0 else slice(1, 4)
        weight = self.variances[which].sum() / self.sums[which].sum()
        return float(np.sqrt(abs(self.predicted * weight)))


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
            (`SplineDecorrelator.variations`). They give the prediction the error of the map, from
            the background in all four regions: how much observed over predicted moves. Data with
            signal take it from simulation, `dataclasses.replace(data, map_error=...)`.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> found = closure(rng.random(10_000), rng.random(10_000), (0.9, 0.8))
        >>> print(f"{found.observed:.0f} observed, {found.predicted:.0f} predicted")
        209 observed, 191 predicted
    """
    one, two, weight = _events(first, second, sample_weight)
    found = _passing(one, two, cuts, weight)
    # A varied map moves A itself too, and most of all: there it knows the fewest events.
    pairs = [[column(s, "variations", len(one), "first") for s in _pair(p)] for p in variations]
    ends = [[_passing(one, s, cuts, weight).ratio for s in pair] for pair in pairs]
    moves = [(up - down) / 2 for up, down in ends]
    return replace(found, map_error=float(np.linalg.norm(moves)))


@dataclass(frozen=True)
class ClosureMap:
    """Closure at many pairs of cuts; rows are cuts on the first score, columns on the second.

    Attributes:
        first_cuts: cuts on the first score, (r,).
        second_cuts: cuts on the second score, (c,).
        ratio: observed over predicted, (r, c); NaN where B, C or D is empty.
        error: error of the ratio, (r, c).
        pull: observed minus predicted in errors of the difference, (r, c), as `Regions.pull`.
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

    >>> rng = np.random.default_rng(1)
    >>> found = closure_map(rng.random(10_000), rng.random(10_000), kept=[0.5, 0.2])
    >>> found.ratio.shape
    (2, 2)
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
        The signal's share of the weight in each region, (4,), NaN in an A without any, and the
        prediction from all events over the one from background alone, minus one.

    >>> first, second, labels = [1, 1, 0, 0, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 1]
    >>> share, bias = contamination(first, second, labels, (0.5, 0.5))
    >>> share.tolist(), bias
    ([0.5, 0.0, 0.0, 0.0], 0.0)
    """
    one, two, weight = _events(first, second, sample_weight)
    kinds = column(labels, "labels", len(one), "first")
    odd = np.count_nonzero((kinds != 0) & (kinds != 1))
    if odd:
        raise ValueError(
            f"labels is neither 0 nor 1 in {odd:,} of {len(kinds):,} events; expected 1 for signal "
            "and 0 for background"
        )
    background = _passing(one, two, cuts, np.where(kinds == 1, 0, weight))
    everything = _passing(one, two, cuts, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(everything.sums > 0, 1 - background.sums / everything.sums, np.nan)
    return share, everything.predicted / background.predicted - 1


def pyhf_workspace(regions: Regions, signal: ArrayLike | None = None) -> dict[str, Any]:
    """Return a model for pyhf in which A is tied to the other regions: a fit gives A's background.

    Four channels of one bin. The background of D is a free number, B and C are that number times
    a factor each, and A is times both. If `regions` have an error of the map, it is a constrained
    parameter of A's background, `map`.

    Args:
        regions: The counts in data, as `closure` returns them, unweighted.
        signal: Expected signal in A, B, C and D, scaled by `mu`. Without it there is background
            alone, and `mu` does nothing.

    >>> rng = np.random.default_rng(1)
    >>> counts = closure(rng.random(10_000), rng.random(10_000), (0.8, 0.8))
    >>> [channel["name"] for channel in pyhf_workspace(counts)["channels"]]
    ['A', 'B', 'C', 'D']
    """
    expected = np.zeros(4) if signal is None else column(signal, "signal", 4, "the regions")
    odd = regions.sums != np.round(regions.sums)
    if odd.any():
        raise ValueError(
            f"the regions hold {', '.join(f'{total:g}' for total in regions.sums)}; expected "
            "counts of events without weights, as a fit takes them for Poisson numbers"
        )
    _check_control(regions.sums, "the counts")
    _, b, c, d = regions.sums
    # Where a fit starts: the factors are one at what the counts themselves say.
    nominal = {"A": regions.predicted, "B": b, "C": c, "D": d}
    factors = {"A": ("d", "b", "c"), "B": ("d", "b"), "C": ("d", "c"), "D": ("d",)}
    up = 1 + regions.map_error
    known = {"name": "map", "type": "normsys", "data": {"hi": up, "lo": 1 / up}}
    channels = []
    for name, content in zip(REGIONS, expected, strict=True):
        scaled: list[dict[str, Any]] = [
            {"name": f"scale_{f}", "type": "normfactor", "data": None} for f in factors[name]
        ]
        if name == "A" and regions.map_error:
            scaled.append(known)
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
    not_empty(one, "first")
    two = column(second, "second", len(one), "first")
    return one, two, event_weights(sample_weight, len(one), "first")


def _count(one: Mask, two: Mask, weight: Floats) -> Regions:
    """Sum weights and their squares in A, B, C and D."""
    region = 2 * ~one + ~two  # A is 0, B 1, C 2, D 3
    sums: Floats = np.bincount(region, weight, minlength=4).astype(float)
    return Regions(sums, np.bincount(region, weight**2, minlength=4).astype(float))


def _passing(one: Floats, two: Floats, cuts: Any, weight: Floats) -> Regions:
    """Count the regions of two cuts, and check that they predict something."""
    if np.shape(cuts) != (2,):
        raise ValueError(f"cuts is {cuts}; expected two, on the first and on the second score")
    first, second = column(cuts, "cuts")
    found = _count(one >= first, two >= second, weight)
    _check_control(found.sums, f"the cuts {first:g} and {second:g}")
    return found


def _check_control(sums: Floats, where: str) -> None:
    for name, total in zip(REGIONS[1:], sums[1:], strict=True):
        if total <= 0:
            raise ValueError(
                f"region {name} of {where} holds a weight of {total:g}; a prediction needs events "
                "in B, C and D, so move the cuts"
            )


def _pair(variation: Any) -> tuple[ArrayLike, ArrayLike]:
    """Return the scores of one varied pair of models."""
    if not isinstance(variation, list | tuple) or len(variation) != 2:
        raise ValueError(
            "variations are not pairs of scores, up and down; expected "
            "[(up.transform(...), down.transform(...)) for up, down in model.variations(20)]"
        )
    return variation[0], variation[1]
