"""Distance correlation, the penalty of DisCo."""

from typing import Any

from array_api_compat import is_numpy_array

from unsculpt.penalties._arrays import Array, constant, events, ratio
from unsculpt.penalties._pairs import fast_covariances


def distance_correlation(
    scores: Array, protected: Array, *, sample_weight: Array | None = None, power: int = 1
) -> Array:
    """Return the distance correlation of scores and attributes: zero if they are independent.

    The correlation of G. Székely, M. Rizzo and N. Bakirov, "Measuring and testing dependence by
    correlation of distances" (Ann. Statist. 35, 2007): with A and B the distances between all
    pairs of events in score and in attributes, less the means of their rows and columns,

        dCor² = mean(A B) / sqrt(mean(A²) mean(B²)).

    G. Kasieczka and D. Shih, "DisCo fever" (arXiv:2001.05310), add it to the loss, on background.
    Their code calls dCor² `power=1`; here `power` is the power of dCor, so theirs is `power=2`.

    Weights enter as shares of their sum, so their scale does not matter, nor do the units of scores
    and attributes. An event of weight zero is not there: give signal events zero to penalise
    background alone. No gradient flows into the weights.

    Time and memory grow as n², a few arrays of n × n, so this is for batches. NumPy arrays of one
    score and one attribute take n log n instead: a million events are no problem.

    Args:
        scores: Scores, shape (n,), or (n, d) for a vector of scores.
        protected: Protected attributes, shape (n,) or (n, k). Several attributes make one Euclidean
            distance, so bring them to comparable scales first.
        sample_weight: Event weights, shape (n,).
        power: 1 for the distance correlation, 2 for its square.

    Returns:
        A scalar array of the kind of `scores`, between 0 and 1 unless weights are negative; zero if
        either is constant.

    Examples:
        >>> import numpy as np
        >>> mass = np.array([60.0, 70.0, 80.0, 90.0])
        >>> round(float(distance_correlation(2 * mass, mass)), 6)
        1.0
        >>> round(float(distance_correlation(np.array([0.2, 0.8, 0.8, 0.2]), mass)), 6)
        0.52664
    """
    if power not in (1, 2):
        raise ValueError(
            f"power is {power}; expected 1 for the distance correlation or 2 for its square"
        )
    xp, x, y, weight = events(scores, protected, sample_weight)
    share = ratio(xp, weight, xp.sum(weight))
    if is_numpy_array(x):
        x, y = (column[:, 0] if column.shape[1:] == (1,) else column for column in (x, y))
    fast = is_numpy_array(x) and x.ndim == y.ndim == 1
    covariances = fast_covariances if fast else _covariances
    xy, xx, yy = covariances(xp, x, y, share)
    squared = ratio(xp, xy, _root(xp, xx) * _root(xp, yy))
    return squared if power == 2 else _root(xp, squared)


def _covariances(xp: Any, x: Array, y: Array, share: Array) -> tuple[Array, Array, Array]:
    a, b = (_centred(xp, _distances(xp, column), share) for column in (x, y))
    pair = share[:, None] * share[None, :]
    return xp.sum(a * b * pair), xp.sum(a * a * pair), xp.sum(b * b * pair)


def _distances(xp: Any, x: Array) -> Array:
    if x.ndim == 1:
        return xp.abs(x[:, None] - x[None, :])
    return _root(xp, sum((x[:, None, k] - x[None, :, k]) ** 2 for k in range(x.shape[1])))


def _centred(xp: Any, distance: Array, share: Array) -> Array:
    # Centred matrices are multiplied only with centred matrices, whose rows sum to zero: the
    # gradient through the means cancels, and need not be computed.
    row = xp.sum(constant(distance) * share, axis=1)
    return distance - (row[:, None] + row[None, :] - xp.sum(row * share))


def _root(xp: Any, x: Array) -> Array:
    """Return the square root, or zero without a gradient where x is not positive."""
    none = x <= 0
    return xp.where(none, 0.0, xp.sqrt(xp.where(none, 1.0, x)))
