"""What signal in the sample of a fit does to the map, and to the bump found with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unsculpt.decorrelators import Decorrelator
from unsculpt.decorrelators.chain import models_of
from unsculpt.decorrelators.common.outside import OutsideWarning
from unsculpt.inputs import (
    Columns,
    Floats,
    Mask,
    check_fraction,
    column,
    numbers,
    protected_columns,
    same_length,
    weight_column,
)
from unsculpt.metrics import signal_window
from unsculpt.metrics._inputs import check_class
from unsculpt.metrics.bumps import events_per_weight, fit_sidebands, polynomials, smooth_order
from unsculpt.metrics.separation import highest_cut
from unsculpt.progress import progress
from unsculpt.report.map_error import knows_its_error

BINS = 50


@dataclass(frozen=True)
class Found:
    """The outcome of a search for a bump after a cut on the new score.

    Attributes:
        signal: the share of the signal that passes.
        excess: events in the window less those of a smooth function fitted beside it.
        error: error of the excess.
    """

    signal: float
    excess: float
    error: float


@dataclass(frozen=True)
class Injected:
    """What changes if there is signal in the background of a fit.

    Attributes:
        strength: signal over background in the fit, and in the events searched.
        moved: how far the new score of background moves, on average.
        farthest: the 99th percentile of how far the new score of background moves.
        errors: `moved` divided by the mean error of the map; None if the map does not know it.
        clean: what the search finds with a map that was fitted without the signal.
        polluted: what the search finds with the map that was fitted with it.
    """

    strength: float
    moved: float
    farthest: float
    errors: float | None
    clean: Found
    polluted: Found

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def inject_signal(
    decorrelator: Decorrelator,
    scores: ArrayLike,
    protected: Any,
    labels: ArrayLike,
    strengths: Sequence[float] = (0.001, 0.01, 0.1),
    *,
    efficiency: float = 0.01,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
) -> list[Injected]:
    """Fit with some signal in the background, and say how the map and a bump move.

    Half of the events, drawn at random, are for fits, the others are searched. All signal is
    used, with weights that make it the wanted fraction of the background. A cut keeps
    `efficiency` of the events; the signal is looked for along the first attribute, in the window
    that holds most of it.

    Args:
        decorrelator: the method; copies of it are fitted, and it stays as it is.
        scores: (n,).
        protected: the attributes; the first must be continuous.
        labels: 1 for signal, 0 for background.
        strengths: signal over background.
        efficiency: the share of the events that the cut keeps.
        sample_weight: event weights, negative ones included.
        seed: seed of the division into halves.

    Examples:
        >>> from unsculpt import SplineDecorrelator
        >>> from unsculpt.datasets import toys
        >>> toy = toys.tagger(20_000, 2_000, seed=1)
        >>> few, many = inject_signal(
        ...     SplineDecorrelator(), toy.score, toy.protected, toy.label, (0.001, 0.1)
        ... )
        >>> few.moved < many.moved, many.polluted.signal < many.clean.signal
        (True, True)
    """
    values, label = column(scores, "scores"), numbers(labels, "labels")
    names, columns = protected_columns(protected)
    same_length(len(values), protected=len(columns[0]), labels=len(label))
    check_fraction(efficiency, "efficiency")
    weight = weight_column(sample_weight, len(values))
    for number in strengths:
        if not 0 < number <= 1:
            raise ValueError(f"strengths has {number:g}; expected fractions above 0 and up to 1")
    mass = numbers(columns[0], names[0])
    table = Columns(zip(names, columns, strict=True))
    to_fit = np.random.default_rng([seed, 5]).random(len(values)) < 0.5
    for half in (to_fit, ~to_fit):
        for of, what in ((label == 0, "background"), (label == 1, "signal")):
            check_class(half & of, weight, what)
    window = signal_window(mass[label == 1], sample_weight=weight[label == 1])

    def fitted(strength: float) -> Any:
        own = _mixed(weight[to_fit], label[to_fit], strength)
        rows = np.flatnonzero(to_fit)[own != 0]
        model = clone(decorrelator)
        much = f"with {100 * strength:.4g}%" if strength else "without"
        for part in models_of([getattr(model, "decorrelator", model)]):
            if isinstance(part, Decorrelator):
                part.outside = "clip"  # one half has the heaviest event
        with progress(f"Fitting {much} signal"):
            return model.fit(values[rows], table[rows], sample_weight=own[own != 0])

    def flat(model: Any) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideWarning)
            return np.asarray(model.transform(values[~to_fit], table[~to_fit]))

    search = _Search(mass[~to_fit], label[~to_fit], weight[~to_fit], efficiency, window)
    nominal = fitted(0.0)
    before = flat(nominal)
    background = label[~to_fit] == 0
    counts = weight[~to_fit][background]
    errors = None
    if knows_its_error(nominal):
        own = np.flatnonzero(to_fit & (label == 0))
        errors = np.average(nominal.uncertainty(values[own], table[own]), weights=weight[own])
    found = []
    for strength in strengths:
        after = flat(fitted(strength))
        distance = np.abs(after - before)[background]
        moved = float(np.average(distance, weights=counts))
        found.append(
            Injected(
                strength,
                moved,
                highest_cut(distance, counts, 0.01),
                None if errors is None else float(moved / errors),
                search(before, strength),
                search(after, strength),
            )
        )
    return found


def _mixed(weight: Floats, label: Floats, strength: float) -> Floats:
    """Return weights with which the signal is this fraction of the background."""
    signal = label == 1
    scale = strength * weight[~signal].sum() / weight[signal].sum()
    return np.where(signal, scale * weight, weight)


@dataclass(frozen=True)
class _Search:
    """Looks for the signal in a window of the mass, beside which a smooth function is fitted."""

    mass: Floats
    label: Floats
    weight: Floats
    efficiency: float
    window: tuple[float, float]

    def __call__(self, flat: Floats, strength: float) -> Found:
        """Return what is found behind a cut on the new score, with this fraction of signal."""
        weight, signal = _mixed(self.weight, self.label, strength), self.label == 1
        # Of what a search has: it does not know its signal from its background.
        passing = flat >= highest_cut(flat, weight, self.efficiency)
        content, _ = self._spectrum(passing, weight)
        # A search has as many events of signal as it has, not as many as were simulated of it.
        worth = events_per_weight(*self._spectrum(~signal, weight))
        edges, inside = self._edges
        basis = polynomials(edges, self._order)
        fit = fit_sidebands(content, inside, basis, np.abs(content) / worth)
        share = weight[passing & signal].sum() / weight[signal].sum()
        error = ((fit.expected / worth)[inside].sum() + fit.error**2) ** 0.5
        return Found(float(share), float(content[inside].sum() - fit.in_window), float(error))

    @cached_property
    def _edges(self) -> tuple[Floats, Mask]:
        """The bins, without those of the last few events, and which of them are in the window."""
        low, high = np.quantile(self.mass[self.label == 0], [0.001, 0.999])
        edges = np.linspace(low, high, BINS + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        inside = (middles >= self.window[0]) & (middles <= self.window[1])
        if not inside.any() or np.mean(inside) > 0.5:
            raise ValueError(
                f"the window of the signal, {self.window[0]:g} to {self.window[1]:g}, holds "
                f"{inside.sum()} of {BINS} bins between {edges[0]:g} and {edges[-1]:g}; expected a "
                "signal narrower than half of the background's spectrum, and inside of it"
            )
        return edges, inside

    @cached_property
    def _order(self) -> int:
        """Of the function: the lowest that describes all background."""
        content, squares = self._spectrum(self.label == 0, self.weight)
        return smooth_order(content, self._edges[0], squares)

    def _spectrum(self, chosen: Mask, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weights, and the squared ones, in each bin."""
        content, squares = (
            np.histogram(self.mass[chosen], self._edges[0], weights=w[chosen])[0]
            for w in (weight, weight**2)
        )
        return content, squares
