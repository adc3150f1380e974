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
        self.signal = events.labels == 1
        self.weight = np.ones(len(score)) if events.weight is None else events.weight
        self.rank = np.unique(score, return_inverse=True)[1]
        self.bins = [(bin_index(axis.values, axis.edges), len(axis.edges)) for axis in events.axes]
        coarse = events.axes[0].with_bins(20)
        where = bin_index(coarse.values, coarse.edges)
        # Places in the order of the bins, and in each of the scores.
        order, self.place = np.unique(
            where * (self.rank.max() + 1) + self.rank, return_inverse=True
        )
        self.first = np.searchsorted(order, np.arange(len(coarse.edges)) * (self.rank.max() + 1))

    def __call__(self, rows: NDArray[np.intp]) -> Floats:
        """Return the numbers of these events, some of which may be there more than once."""
        weight = self.weight * np.bincount(rows, minlength=len(self.weight))
        signal, background = np.where(self.signal, [weight, 0 * weight], [0 * weight, weight])
        at_signal, at_background = (weight_in_bins(self.rank, w) for w in (signal, background))
        if at_signal.sum() <= 0 or at_background.sum() <= 0:
            raise ValueError("a class has no weight")
        kept = np.maximum.accumulate(np.cumsum(at_signal[::-1]))
        wanted = self.efficiency * at_signal.sum() * (1 - 1e-12)
        cut = len(kept) - 1 - np.searchsorted(kept, wanted)
        passing = at_background[cut:].sum()
        below = np.cumsum(at_background) - at_background / 2
        return np.array(
            [
                at_background.sum() / passing if passing > 0 else np.inf,
                at_signal @ below / (at_signal.sum() * at_background.sum()),
                self._at_fixed_first(signal, background),
                *self._inverse_divergences(background, self.rank >= cut),
            ]
        )

    def _at_fixed_first(self, signal: Floats, background: Floats) -> float:
        """Return the mean over the signal of the AUC in coarse bins."""
        at_signal, at_background = (weight_in_bins(self.place, w) for w in (signal, background))
        total = np.concatenate([[0.0], np.cumsum(at_background)])
        start = np.repeat(total[self.first], np.diff(np.append(self.first, len(at_signal))))
        pairs = at_signal * (total[1:] - at_background / 2 - start)
        pairs, in_signal, in_background = (
            np.diff(np.concatenate([[0.0], np.cumsum(x)])[self.first])
            for x in (pairs, at_signal, at_background)
        )
        known = (in_signal > 0) & (in_background > 0)
        return float((pairs[known] / in_background[known]).sum() / in_signal[known].sum())

    def _inverse_divergences(self, background: Floats, passes: NDArray[np.bool_]) -> list[float]:
        spectra = [
            [weight_in_bins(where, w, n)[:-1] for w in (background * passes, background * ~passes)]
            for where, n in self.bins
        ]
        with np.errstate(divide="ignore"):
            return [float(1 / np.float64(metrics.jensen_shannon(*pair))) for pair in spectra]
