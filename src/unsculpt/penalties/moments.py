"""Moment decomposition, the penalty of MoDe."""

from unsculpt.penalties._arrays import Array, constant, events
from unsculpt.penalties._bins import equal_bins
from unsculpt.penalties._polynomials import polynomial_fit


def moment_decomposition(
    scores: Array,
    protected: Array,
    *,
    order: int = 0,
    bins: int = 32,
    max_slope: float | None = None,
    monotonic: bool = False,
    sample_weight: Array | None = None,
) -> Array:
    """Return how far the score's distribution is from a polynomial in the protected attribute.

    The loss of O. Kitouni, B. Nachman, C. Weisser and M. Williams, "Enhancing searches for
    resonances with machine learning and moment decomposition" (arXiv:2010.09745). In bins b of the
    attribute with equal numbers of events, the distribution function F_b(s) of the score is fitted,
    at every s, by Legendre polynomials of the attribute up to an order, and the penalty is

        mean over bins of the integral over s of (F_b(s) - fit_b(s))².

    Order 0 asks for independence. Order 1 lets every cut's efficiency be linear in the attribute,
    order 2 quadratic: no bump can come of it, and the classifier keeps more of its power.

    The integral is exact, from score to score. F_b jumps where an event's score is, so the
    gradient by that score is the residual of the fit there times the jump, with half the
    jump counted at the score itself. Time and memory grow as n log n + n × bins.

    Scores are best on a fixed range, such as [0, 1] behind a sigmoid: the penalty is in their
    units. An event of weight zero is not there: give signal events zero to penalise background
    alone. Gradients flow into the scores only.

    Args:
        scores: Scores, shape (n,).
        protected: Protected attribute, shape (n,). It is scaled to [-1, 1] by its range, so clip or
            transform one with a few extreme values.
        order: 0, 1 or 2: the highest power of the attribute that is free.
        bins: Number of bins in the attribute. Equal values share a bin.
        max_slope: With order 1 or 2, the largest slope that is free, as a fraction of the slope at
            which the efficiency reaches zero at one end of the range.
        monotonic: With order 2, whether the quadratic must be monotonic in the attribute.
        sample_weight: Event weights, shape (n,).

    Returns:
        A scalar array of the kind of `scores`.

    Examples:
        >>> import numpy as np
        >>> mass = np.repeat([60.0, 70.0, 80.0, 90.0], 2)
        >>> score = np.array([0.1, 0.6, 0.2, 0.7, 0.3, 0.8, 0.4, 0.9])
        >>> round(float(moment_decomposition(score, mass)), 6)
        0.031944
        >>> round(float(moment_decomposition(score[[0, 1] * 4], mass)), 6)
        0.0
    """
    _check_settings(order, bins, max_slope, monotonic)
    xp, scores, protected, weight = events(scores, protected, sample_weight)
    for name, column in (("scores", scores), ("protected", protected)):
        if column.ndim != 1:
            raise ValueError(
                f"{name} has shape {tuple(column.shape)}; expected (n,), so pass one column of it"
            )
    by_attribute = xp.argsort(constant(protected))
    scores, protected, weight = (x[by_attribute] for x in (scores, constant(protected), weight))
    binned = equal_bins(xp, protected, weight, bins)
    fit = polynomial_fit(xp, binned, order, max_slope, monotonic)

    def penalty(cdf: Array) -> Array:
        return xp.sum(binned.share * (cdf - fit(cdf)) ** 2, axis=-1)

    by_score = xp.argsort(constant(scores))
    scores, jump = scores[by_score], binned.jump[by_score, :]
    fixed = constant(scores)
    cdf = xp.cumulative_sum(jump, axis=0, include_initial=True)
    value = xp.sum(penalty(cdf[1:-1, :]) * (fixed[1:] - fixed[:-1]))

    # What follows adds zero, with the gradient: as a score rises, F just there falls by the jump.
    below, upto = (cdf[xp.searchsorted(fixed, fixed, side=side), :] for side in ("left", "right"))
    falling = (below + upto) / 2 - jump * (scores - fixed)[:, None]
    change = xp.sum(penalty(falling))
    return value + (change - constant(change))


def _check_settings(order: int, bins: int, max_slope: float | None, monotonic: bool) -> None:
    if order not in (0, 1, 2):
        raise ValueError(f"order is {order}; expected 0, 1 or 2")
    if not isinstance(bins, int) or bins < 2:
        raise ValueError(f"bins is {bins}; expected a whole number of at least 2")
    if max_slope is not None and not (order > 0 and max_slope > 0):
        raise ValueError(
            f"max_slope is {max_slope} with order {order}; expected a positive number with order 1 "
            "or 2, where there is a slope to limit"
        )
    if monotonic and order != 2:
        raise ValueError(f"monotonic is for order 2, but order is {order}; leave it out")
