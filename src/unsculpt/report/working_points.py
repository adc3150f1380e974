"""The spectra at every working point, small enough to travel with the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats
from unsculpt.metrics.binning import bin_index
from unsculpt.metrics.separation import highest_cuts
from unsculpt.report.events import Events

EFFICIENCIES = np.arange(1, 100) / 100


def working_points(events: Events) -> dict[str, Any]:
    """Return histograms of the first attribute by the hardest cut that an event passes.

    What passes a cut is then the sum up to it. The last bin is for events outside of all others,
    the last cut for those that pass none.
    """
    axis = events.axes[0]
    where = bin_index(axis.values, axis.edges)
    weight = np.ones(len(where)) if events.weight is None else events.weight
    signal = events.labels == 1
    n_cuts, n_bins = len(EFFICIENCIES) + 1, len(axis.edges)

    def histogram(chosen: NDArray[np.bool_], level: NDArray[np.intp], power: int) -> Floats:
        index = level[chosen] * n_bins + where[chosen]
        content = np.bincount(index, weight[chosen] ** power, n_cuts * n_bins)
        return content.reshape(n_cuts, n_bins).astype(float)

    scores = []
    for name, score in events.scores.items():
        cuts = highest_cuts(score[signal], weight[signal], EFFICIENCIES)
        level = len(cuts) - np.searchsorted(cuts[::-1], score, side="right")
        squares = histogram(~signal, level, 2)
        scores.append(
            {
                "name": name,
                "cuts": _short(cuts),
                **({"signal": _short(histogram(signal, level, 1))} if events.has_signal else {}),
                "background": _short(histogram(~signal, level, 1)),
                "squares": _short(squares[:, :-1].sum(axis=1)),
                "all_squares": _short(squares.sum(axis=1)),
            }
        )
    return {
        "name": axis.name,
        "edges": _short(axis.edges),
        "bins": axis.bins(),
        "categories": axis.categories,
        "cut_on": events.cut_on,
        "efficiencies": EFFICIENCIES.tolist(),
        "scores": scores,
    }


def _short(numbers: Floats) -> Any:
    """Return lists of numbers of six digits, as whole ones where they are whole."""
    if numbers.ndim > 1:
        return [_short(row) for row in numbers]
    return [int(x) if x.is_integer() else float(f"{x:.6g}") for x in numbers.tolist()]
