"""What a cut does to the background's spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from unsculpt import metrics
from unsculpt.inputs import Floats
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.style import ALL, COLOURS, log_axis, styled

MOST = 2.0  # on the axis of ratios


class Spectrum(NamedTuple):
    """A histogram of weights and the square of its errors."""

    content: Floats
    variance: Floats

    @classmethod
    def of_events(cls, values: Floats, edges: Floats, weight: Floats) -> Spectrum:
        """Count events in bins."""
        return cls(*(np.histogram(values, edges, weights=weight**power)[0] for power in (1.0, 2.0)))

    @property
    def shares(self) -> Floats:
        """Return the share of each bin in the total; zeros if there is no total to share."""
        return self._of_total(self.content)

    @property
    def errors(self) -> Floats:
        """Return the errors of the shares."""
        return self._of_total(np.sqrt(self.variance))

    @property
    def interval(self) -> Interval[Floats]:
        """Return the shares with their errors."""
        return Interval(self.shares, self.shares - self.errors, self.shares + self.errors)

    def _of_total(self, numbers: Floats) -> Floats:
        total = self.content.sum()
        return np.asarray(numbers / total if total > 0 else np.zeros(len(numbers)))


def spectrum(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    protected: ArrayLike | Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
    name: str = "mass [GeV]",
    bins: int | ArrayLike = 50,
) -> Figure:
    """Draw the background's spectrum, all of it and after a cut on each score, and the ratios.

    Args:
        scores: the scores by what the legend calls them, (n,) each.
        labels: 1 for signal, 0 for background.
        protected: the protected attribute, numbers or categories, (n,); or an `Axis` of it.
        sample_weight: event weights, one each if not given.
        efficiency: the signal efficiency at which every score is cut.
        name: name of the protected attribute, on the axis.
        bins: number of equal bins across the background, or their edges.

    >>> from unsculpt.datasets import toys
    >>> toy = toys.tagger(2000, 500, seed=1)
    >>> figure = spectrum({"tagger": toy.score}, toy.label, toy.protected)
    """
    axis = Axis.from_events(protected, labels, bins, name)
    spectra = background_spectra(
        scores, labels, axis, sample_weight=sample_weight, efficiency=efficiency
    )
    return draw_spectrum(
        spectra, axis, f"background after a cut at {efficiency:.0%} signal efficiency"
    )


@styled
def draw_spectrum(spectra: dict[str, Spectrum], axis: Axis, title: str) -> Figure:
    """Draw spectra and below them their ratios."""
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    upper, ratio = figure.subplots(2, sharex=True, height_ratios=[3, 1])
    draw_spectra(upper, ratio, spectra, axis)
    upper.set_title(title)
    return figure


def background_spectra(
    scores: Mapping[str, ArrayLike],
    labels: ArrayLike,
    axis: Axis,
    *,
    sample_weight: ArrayLike | None = None,
    efficiency: float = 0.5,
) -> dict[str, Spectrum]:
    """Return the spectrum of all background and of what passes a cut on each score."""
    passing = {"all": np.ones(len(axis.values), bool)}
    for label, score in scores.items():
        cut = metrics.threshold(score, labels, efficiency=efficiency, sample_weight=sample_weight)
        passing[f"cut on {label}"] = np.asarray(score) >= cut
    weight = np.ones(len(axis.values)) if sample_weight is None else np.asarray(sample_weight)
    background = np.asarray(labels) == 0
    return {
        label: Spectrum.of_events(axis.values[chosen], axis.edges, weight[chosen])
        for label, chosen in ((label, background & passes) for label, passes in passing.items())
    }


def draw_spectra(axes: Axes, ratio: Axes, spectra: dict[str, Spectrum], axis: Axis) -> None:
    """Draw the first spectrum filled, the others as lines, and below their ratios to the first.

    On a linear axis, where a tenth can be seen; an arrow stands for what is above.
    """
    (label, every), *others = spectra.items()
    edges, middle = axis.edges, (axis.edges[1:] + axis.edges[:-1]) / 2
    axes.stairs(every.shares, edges, color=ALL, label=label, fill=True, alpha=0.3)
    ratio.axhline(1, color=ALL, linewidth=0.8)
    for (label, spectrum), colour in zip(others, COLOURS, strict=False):
        axes.stairs(spectrum.shares, edges, color=colour, label=label, linewidth=1.3)
        # With negative weights a bin can hold less than nothing, which a log axis cannot show.
        filled = (spectrum.shares > 0) & (every.shares > 0)
        value = spectrum.shares[filled] / every.shares[filled]
        error = value * np.sqrt(spectrum.variance[filled]) / spectrum.content[filled]
        ratio.errorbar(
            middle[filled], value, error, color=colour, fmt=".", markersize=3, linewidth=0.8
        )
        far = value > MOST
        ratio.plot(middle[filled][far], np.full(far.sum(), 0.96 * MOST), "^", c=colour, ms=4)
    log_axis(axes)
    axes.set(ylabel="fraction of background")
    axes.set_ylim(log_limits([spectrum.shares for spectrum in spectra.values()]))
    axes.legend()
    axis.dress(ratio)
    axes.tick_params(labelbottom=False)
    ratio.set(ylim=(0, MOST), ylabel="to all")


def log_limits(shapes: list[Floats]) -> tuple[float, float]:
    """Return limits that hold all filled bins, two decades at least, and a legend above."""
    values = np.concatenate(shapes)
    peak = values.max()
    low = min(values[values > 0].min() / 1.5, peak / 100)
    return low, peak * (peak / low) ** 0.35
