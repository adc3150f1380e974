"""A smooth function for a spectrum, and what a search for a bump finds beside it."""

from typing import NamedTuple

import numpy as np

from unsculpt.inputs import Floats, Mask, whole_number
from unsculpt.metrics._inputs import column
from unsculpt.metrics.independence import chi2_survival

ORDERS = range(2, 9)  # of the polynomial in the exponent
DESCRIBES = 0.05  # the p-value from which on an order describes a spectrum
STEPS = 100


class Background(NamedTuple):
    """A smooth spectrum and how far its sum in a window may be off."""

    expected: Floats
    in_window: float
    error: float


class Scan(NamedTuple):
    """What a search finds in each place of a window that slides over a spectrum.

    Attributes:
        low, high: the ends of the window, for each of its places.
        excess: events in the window less those that the function expects.
        error: error of the excess, from the events in the window and from the fit.
        expected: events that the function, which is fitted outside the window, expects in it.
        order: order of the polynomial in the exponent of the function.
    """

    low: Floats
    high: Floats
    excess: Floats
    error: Floats
    expected: Floats
    order: int

    @property
    def pulls(self) -> Floats:
        """The excess in units of its error."""
        return self.excess / self.error


def polynomials(edges: Floats, order: int) -> Floats:
    """Return Chebyshev polynomials up to an order in the middle of each bin, (bins, order + 1)."""
    middles = (edges[1:] + edges[:-1]) / 2
    across = (2 * middles - edges[0] - edges[-1]) / (edges[-1] - edges[0])
    return np.asarray(np.polynomial.chebyshev.chebvander(across, order))


def fit_sidebands(
    content: Floats, inside: Mask, basis: Floats, squares: Floats | None = None
) -> Background:
    """Fit the exponential of a polynomial to the bins outside a window.

    By the likelihood of Poisson counts; of weighted events, that of as many as are as precise.

    Args:
        content: content of each bin.
        inside: which bins the signal may be in; they are predicted, not fitted.
        basis: the polynomials at each bin.
        squares: the sum of the squared weights of each bin; as for events of weight one if not
            given.
    """
    # What is in the window may have weights of its own.
    beside = None if squares is None else np.where(inside, 0, squares)
    scale = events_per_weight(np.where(inside, 0, content), beside)
    outside, seen, n = basis[~inside], scale[~inside], np.clip(content[~inside], 0, None)

    def spectrum(c: Floats, basis: Floats) -> Floats:
        return np.asarray(np.exp(np.clip(basis @ c, -50, 50)))

    def loss(c: Floats) -> float:
        log = np.clip(outside @ c, -50, 50)
        return float(seen @ (np.exp(log) - n * log))

    # A bin without events has a logarithm too: that of half an event.
    weight = np.sqrt(seen * n + 1)
    start = np.log(n + 0.5 / seen) * weight
    best = np.linalg.lstsq(outside * weight[:, None], start, rcond=None)[0]
    lowest = loss(best)
    for _ in range(STEPS):  # Newton's, with shorter steps where a whole one overshoots
        expected = seen * spectrum(best, outside)
        curvature = outside.T @ (expected[:, None] * outside)
        step = np.linalg.pinv(curvature, hermitian=True) @ (outside.T @ (seen * n - expected))
        lengths = 0.5 ** np.arange(20)
        found = next((c for t in lengths if loss(c := best + t * step) < lowest), best)
        gained, lowest = lowest - loss(found), loss(found)
        best = found
        if gained < 1e-8:
            break
    expected = spectrum(best, basis)
    information = outside.T @ ((seen * expected[~inside])[:, None] * outside)
    slope = expected[inside] @ basis[inside]
    # With next to no events some coefficients are free: the pseudo-inverse leaves them out.
    variance = float(slope @ np.linalg.pinv(information, hermitian=True) @ slope)
    return Background(expected, float(expected[inside].sum()), max(variance, 0.0) ** 0.5)


def events_per_weight(content: Floats, squares: Floats | None) -> Floats:
    """Return how many events of weight one each unit of weight is worth, in each bin.

    Among a tenth of the bins on either side: in a single bin of few events it goes with the content
    by chance, and a fit would follow the bins that happen to be high or low.
    """
    if squares is None:
        return np.ones(len(content))
    window = np.ones(2 * (len(content) // 10) + 1)
    near, its_squares = (np.convolve(x, window, "same") for x in (content, squares))
    everywhere = content.sum() / squares.sum()
    filled = (its_squares > 0) & (near > 0)
    worth = np.full(len(content), everywhere)
    return np.asarray(np.divide(near, its_squares, out=worth, where=filled))


def smooth_order(content: Floats, edges: Floats, squares: Floats | None = None) -> int:
    """Return the lowest order of the polynomial that describes a spectrum, or the highest."""
    return next((n for n in ORDERS if describes(n, content, edges, squares)), ORDERS[-1])


def describes(order: int, content: Floats, edges: Floats, squares: Floats | None = None) -> bool:
    """Return whether the exponential of a polynomial of this order describes a spectrum."""
    nothing = np.zeros(len(content), dtype=bool)
    fit = fit_sidebands(content, nothing, polynomials(edges, order), squares)
    scale = events_per_weight(content, squares)
    chi2 = float((scale * (content - fit.expected) ** 2 / fit.expected).sum())
    return chi2_survival(chi2, len(content) - order - 1) >= DESCRIBES


def scan_for_bumps(
    content: Floats,
    edges: Floats,
    *,
    width: int,
    order: int | None = None,
    squares: Floats | None = None,
) -> Scan:
    """Slide a window over a spectrum and compare it with a smooth function fitted beside it.

    On background alone every excess is a spurious signal. The function is the exponential of a
    polynomial.

    Args:
        content: content of each bin.
        edges: edges of the bins.
        width: width of the window, in bins.
        order: order of the polynomial; the lowest that describes the spectrum if not given.
        squares: the sum of the squared weights of each bin; as for events of weight one if not
            given.

    Examples:
        >>> edges = np.linspace(50, 150, 51)
        >>> falling = 1e4 * np.exp(-edges[:-1] / 30)
        >>> bool(np.abs(scan_for_bumps(falling, edges, width=5).pulls).max() < 0.1)
        True
    """
    content, edges = column(content, "content"), column(edges, "edges")
    whole_number(width, "width")
    widths = np.diff(edges)
    if len(edges) != len(content) + 1 or np.ptp(widths) > 1e-6 * widths[0]:
        raise ValueError(
            f"edges has {len(edges)} values for {len(content)} bins, {widths.min(initial=0):g} to "
            f"{widths.max(initial=0):g} wide; expected one more than bins, equally far apart"
        )
    if not content.sum() > 0:
        raise ValueError(f"content sums to {content.sum():g}; expected a spectrum with events")
    order = smooth_order(content, edges, squares) if order is None else order
    left = len(content) - width
    if left < order + 2:
        raise ValueError(
            f"a window of {width} of {len(content)} bins leaves {max(left, 0)} beside it; a "
            f"function of order {order} needs at least {order + 2}: take a narrower window or more "
            "bins"
        )
    basis, scale = polynomials(edges, order), events_per_weight(content, squares)
    rows = []
    for first in range(left + 1):
        window = slice(first, first + width)
        inside = np.zeros(len(content), dtype=bool)
        inside[window] = True
        fit = fit_sidebands(content, inside, basis, squares)
        # An empty window still has the error of one event.
        variance = float((fit.expected[window] / scale[window]).sum())
        error = (max(variance, 1 / scale[window].max() ** 2) + fit.error**2) ** 0.5
        ends = edges[first], edges[first + width]
        rows.append((*ends, content[window].sum() - fit.in_window, error, fit.in_window))
    low, high, excess, errors, expected = np.array(rows).T
    return Scan(low, high, excess, errors, expected, order)
