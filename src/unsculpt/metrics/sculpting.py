"""How much a cut on the score changes the background's spectrum."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics._inputs import Window, check_class, column, describe, events, inside
from unsculpt.metrics.binning import bin_edges, bin_index, weight_in_bins
from unsculpt.metrics.separation import threshold


class CutBackground(NamedTuple):
    """The background in a histogram of the protected attribute, and which of it passes a cut."""

    bins: NDArray[np.intp]
    weight: Floats
    passes: Mask
    n_bins: int

    def spectrum(self, selected: Mask | NDArray[np.intp]) -> Floats:
        """Return the histogram of the selected events."""
        return weight_in_bins(self.bins[selected], self.weight[selected], self.n_bins)


def cut_background(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    efficiency: float,
    bins: int | ArrayLike,
    window: Window | None,
    sample_weight: ArrayLike | None,
) -> CutBackground:
    """Cut at a signal efficiency and return the background that is in the histogram."""
    cut = threshold(scores, labels, efficiency=efficiency, sample_weight=sample_weight)
    scores, signal, weight = events(scores, labels, sample_weight)
    protected = column(protected, "protected", len(scores))
    here = ~signal & inside(protected, window)
    check_class(here, weight, "background" + describe(window))
    edges = bin_edges(protected[here] if window is None else window, bins)
    index = bin_index(protected, edges)
    here &= index < len(edges) - 1
    for selected, what in ((scores >= cut, "passes"), (scores < cut, "fails")):
        check_class(here & selected, weight, f"background{describe(window)} that {what} the cut")
    return CutBackground(index[here], weight[here], scores[here] >= cut, len(edges) - 1)


def jensen_shannon(p: ArrayLike, q: ArrayLike, *, base: float = math.e) -> float:
    """Return the Jensen-Shannon divergence between two histograms.

    Each is normalised to one. An empty bin adds its limit, 0 log 0 = 0, and is never dropped; a
    bin with negative content, as negative weights may leave, counts as empty.

    Args:
        p: Contents of one histogram.
        q: Contents of the other, in the same bins.
        base: Base of the logarithm.

    Returns:
        The divergence, which is 0 for equal shapes and log 2 for disjoint ones.

    Examples:
        >>> jensen_shannon([1, 0], [0, 1], base=2)
        1.0
        >>> jensen_shannon([1, 2, 3], [2, 4, 6])
        0.0
    """
    if not base > 1:
        raise ValueError(f"base is {base}; expected a number above 1, such as 2 or math.e")
    p = _shape(p, "p")
    q = _shape(q, "q", len(p))
    nats = (_information(p, p + q) + _information(q, p + q)) / 2
    return max(nats, 0.0) / math.log(base)


def _shape(histogram: ArrayLike, name: str, length: int | None = None) -> Floats:
    content = column(histogram, name, length).clip(min=0)
    if not content.any():
        raise ValueError(
            f"{name} has no positive entry among {len(content)} bins; expected at least one"
        )
    shape: Floats = content / content.sum()
    return shape


def _information(p: Floats, both: Floats) -> float:
    filled = p > 0
    return float(np.sum(p[filled] * np.log(2 * p[filled] / both[filled])))


def jsd(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    efficiency: float = 0.5,
    bins: int | ArrayLike = 50,
    window: Window | None = None,
    base: float = math.e,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the divergence between the background spectra that pass and that fail a cut.

    Judge it beside `ideal_inverse_jsd`: even a random selection does not reach zero.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        bins: A number of equal bins across the window, or without one across the background;
            or the edges, beyond which events are left out.
        window: (low, high), ends included: compare only the background inside. The cut stays
            the one from all events.
        base: Base of the logarithm.
        sample_weight: Event weights, negative ones included; a bin whose weights sum to less
            than zero counts as empty.

    Returns:
        The divergence, which is 0 if the cut does not change the shape.

    Examples:
        >>> scores = [0.2, 0.8, 0.2, 0.8, 0.8]
        >>> labels = [0, 0, 0, 0, 1]
        >>> jsd(scores, labels, [60, 60, 90, 90, 80], bins=2)
        0.0
        >>> jsd(scores, labels, [60, 90, 60, 90, 80], bins=2, base=2)
        1.0
    """
    background = cut_background(
        scores,
        labels,
        protected,
        efficiency=efficiency,
        bins=bins,
        window=window,
        sample_weight=sample_weight,
    )
    passing = background.spectrum(background.passes)
    failing = background.spectrum(~background.passes)
    return jensen_shannon(passing, failing, base=base)


def inverse_jsd(
    scores: ArrayLike,
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    efficiency: float = 0.5,
    bins: int | ArrayLike = 50,
    window: Window | None = None,
    base: float = math.e,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the inverse of the divergence `jsd`: the higher, the less sculpting.

    Args:
        scores: Classifier scores, higher for signal, shape (n,).
        labels: 1 for signal, 0 for background.
        protected: Protected attribute, such as the mass, shape (n,).
        efficiency: Fraction of the signal, at all masses, that passes the cut.
        bins: As for `jsd`.
        window: As for `jsd`.
        base: Base of the logarithm.
        sample_weight: Event weights, negative ones included.

    Returns:
        The inverse, infinite if the two spectra are equal.

    Examples:
        >>> scores, labels = [0.2, 0.8, 0.2, 0.8, 0.8], [0, 0, 0, 0, 1]
        >>> inverse_jsd(scores, labels, [60, 90, 60, 90, 80], bins=2, base=2)
        1.0
    """
    divergence = jsd(
        scores,
        labels,
        protected,
        efficiency=efficiency,
        bins=bins,
        window=window,
        base=base,
        sample_weight=sample_weight,
    )
    return 1 / divergence if divergence > 0 else math.inf
