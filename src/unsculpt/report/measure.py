"""The numbers of one score in many resamples: what is sorted is sorted once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.metrics.binning import bin_index, weight_in_bins
from unsculpt.report.events import Events


class Measure:
    """Rejection, AUC, AUC at a fixed first attribute, and 1/JSD of each attribute.

    Those of `unsculpt.metrics`, to the last digits; these sort the events every time, which in a
    hundred resamples takes ten times longer.
    """

    def __init__(self, events: Events, score: Floats, efficiency: float) -> None:
        self.efficiency = efficiency
        weight = np.ones(len(score)) if events.weight is None else events.weight
        rank = np.unique(score, return_inverse=True)[1]
        self.ranks = int(rank.max()) + 1
        coarse = events.axes[0].with_bins(20)
        # Places in the order of the bins, and in each of the scores.
        key = bin_index(coarse.values, coarse.edges) * self.ranks + rank
        places, place = np.unique(key, return_inverse=True)
        self.first = np.searchsorted(places, np.arange(len(coarse.edges)) * self.ranks)
        self.places = len(places)
        order = np.argsort(rank)  # neighbours in the score are neighbours in memory
        self.classes = []
        for label in (1, 0):
            rows = order[events.labels[order] == label]
            self.classes.append((rows, weight[rows], rank[rows], place[rows]))
        background = self.classes[1][0]
        self.bins = [
            (bin_index(axis.values, axis.edges)[background], len(axis.edges))
            for axis in events.axes
        ]

    def __call__(self, rows: NDArray[np.intp]) -> Floats:
        """Return the numbers of these events, some of which may be there more than once."""
        times = np.bincount(rows, minlength=sum(len(rows) for rows, *_ in self.classes))
        weights = [weight * times[rows] for rows, weight, *_ in self.classes]
        signal, background = (
            weight_in_bins(rank, w, self.ranks)
            for (*_, rank, _), w in zip(self.classes, weights, strict=True)
        )
        if signal.sum() <= 0 or background.sum() <= 0:
            raise ValueError("a class has no weight")
        kept = np.maximum.accumulate(np.cumsum(signal[::-1]))
        wanted = self.efficiency * signal.sum() * (1 - 1e-12)
        cut = self.ranks - 1 - np.searchsorted(kept, wanted)
        passing = background[cut:].sum()
        below = np.cumsum(background) - background / 2
        return np.array(
            [
                background.sum() / passing if passing > 0 else np.inf,
                signal @ below / (signal.sum() * background.sum()),
                self._at_fixed_first(weights),
                *self._inverse_divergences(weights[1], self.classes[1][2] >= cut),
            ]
        )

    def _at_fixed_first(self, weights: list[Floats]) -> float:
        """Return the mean over the signal of the AUC in coarse bins."""
        signal, background = (
            weight_in_bins(place, w, self.places)
            for (*_, place), w in zip(self.classes, weights, strict=True)
        )
        total = np.concatenate([[0.0], np.cumsum(background)])
        start = np.repeat(total[self.first], np.diff(np.append(self.first, self.places)))
        pairs, in_signal, in_background = (
            np.diff(np.concatenate([[0.0], np.cumsum(x)])[self.first])
            for x in (signal * (total[1:] - background / 2 - start), signal, background)
        )
        known = (in_signal > 0) & (in_background > 0)
        if not known.any():
            return float("nan")
        return float((pairs[known] / in_background[known]).sum() / in_signal[known].sum())

    def _inverse_divergences(self, background: Floats, passes: NDArray[np.bool_]) -> list[float]:
        spectra = [
            [
                weight_in_bins(where[chosen], background[chosen], n)[:-1]
                for chosen in (passes, ~passes)
            ]
            for where, n in self.bins
        ]
        with np.errstate(divide="ignore"):
            return [float(1 / np.float64(metrics.jensen_shannon(*pair))) for pair in spectra]
