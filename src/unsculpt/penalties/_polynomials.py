"""Polynomials of the protected attribute, fitted to distribution functions in bins of it."""

from collections.abc import Callable
from typing import Any

from unsculpt.penalties._arrays import Array, ratio
from unsculpt.penalties._bins import Bins


def polynomial_fit(
    xp: Any, bins: Bins, order: int, max_slope: float | None, monotonic: bool
) -> Callable[[Array], Array]:
    """Return the fit: distribution functions, shape (n, bins), to their polynomials there.

    The moments are those of the Legendre polynomials, which are orthogonal on [-1, 1]. Their means
    in a few bins are not quite, so they are made so: what is a polynomial is then fitted exactly,
    however wide the bins.
    """

    def over_range(x: Array) -> Array:
        return xp.sum(bins.measure * x, axis=-1, keepdims=True)

    def unless_rounding(x: Array) -> Array:  # two categories, say, leave nothing for a quadratic
        return xp.where(over_range(x**2) < 1e-12, 0.0, x)

    linear = unless_rounding(bins.linear - over_range(bins.linear))
    quadratic = bins.quadratic - over_range(bins.quadratic)
    tilt = ratio(xp, over_range(quadratic * linear), over_range(linear**2))
    quadratic = unless_rounding(quadratic - tilt * linear)

    def fit(cdf: Array) -> Array:
        fitted = mean = over_range(cdf)
        if order > 0:
            slope = ratio(xp, over_range(cdf * linear), over_range(linear**2))
            if max_slope is not None:
                slope = _limited(xp, slope, max_slope * mean)
            fitted = fitted + slope * linear
        if order > 1:
            curve = ratio(xp, over_range(cdf * quadratic), over_range(quadratic**2))
            if monotonic:  # the steepest the quadratic gets on [-1, 1], for a linear slope of one
                curve = _limited(xp, curve, slope / (3 + xp.abs(tilt)))
            fitted = fitted + curve * quadratic
        return fitted

    return fit


def _limited(xp: Any, x: Array, limit: Array) -> Array:
    """Return x bent smoothly so as to stay below the limit in size."""
    return limit * xp.tanh(x / xp.where(limit == 0, 1.0, limit))
