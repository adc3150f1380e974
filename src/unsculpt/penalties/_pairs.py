"""Distance covariances of two columns without visiting every pair of events."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]  # of any precision


def fast_covariances(xp: Any, x: Numbers, y: Numbers, share: Numbers) -> tuple[Any, Any, Any]:
    """Return the means of AB, A² and B², for A and B the centred distances, in n log n.

    The double centring opens into the mean of products of distances and the mean distances of each
    event, and both are sums over sorted events (X. Huo and G. Székely, "Fast computing for distance
    covariance", Technometrics 58, 2016).
    """
    kind = np.result_type(x, y)
    x, y, share = (np.asarray(column, np.float64) for column in (x, y, share))
    # From one of the events first, so that a constant column becomes exactly zero.
    x, y = (column - column[0] for column in (x, y))
    x, y = (column - np.sum(column * share) for column in (x, y))
    a, b = _mean_distances(x, share), _mean_distances(y, share)

    def covariance(product: Any, a: Numbers, b: Numbers) -> Any:
        centred = product - 2 * np.sum(share * a * b) + np.sum(share * a) * np.sum(share * b)
        return centred.astype(kind)

    return (
        covariance(_mean_product(x, y, share), a, b),
        covariance(2 * np.sum(share * x * x), a, a),
        covariance(2 * np.sum(share * y * y), b, b),
    )


def _mean_distances(x: Numbers, share: Numbers) -> Numbers:
    """Return the mean distance of each event from all others."""
    order = np.argsort(x)
    x, share = x[order], share[order]
    below, moment = np.cumsum(share), np.cumsum(share * x)
    mean = np.empty_like(x)
    mean[order] = x * (2 * below - below[-1]) + moment[-1] - 2 * moment
    return mean


def _mean_product(x: Numbers, y: Numbers, share: Numbers) -> Any:
    """Return the mean over pairs of |x - x'| |y - y'|."""
    order = np.argsort(x)
    x, y, share = x[order], y[order], share[order]
    # |u| = 2 max(u, 0) - u: the second term is a covariance, the first has only the pairs in
    # which x and y rise together.
    terms = (
        (share, share * x * y),
        (share * x, -share * y),
        (share * y, -share * x),
        (share * x * y, share),
    )
    return 4 * _sum_over_rising_pairs(y, terms) - 2 * np.sum(share * x * y) * np.sum(share)


def _sum_over_rising_pairs(y: Numbers, terms: tuple[tuple[Numbers, Numbers], ...]) -> Any:
    """Return the sum of u[i] v[j] over i < j with y[i] < y[j] and over the terms (u, v).

    A merge sort from its end, one level at a time. Events stand in blocks of 2h neighbours, each
    block in order of y; an event of a block's second half pairs with those of its first half that
    stand before it. Then each block is split into its halves.
    """
    events = np.argsort(y, kind="stable")
    half = 1 << max((len(y) - 1).bit_length() - 1, 0)
    total = 0.0
    while half:
        is_first = events & half == 0
        first, second = events[is_first], events[~is_first]
        passed = np.cumsum(is_first)[~is_first]
        # Only the last block can be short, so the blocks before have h such events each.
        in_blocks_before = second // (2 * half) * half
        for u, v in terms:
            sums = np.concatenate(([0.0], np.cumsum(u[first])))
            total += np.sum(v[second] * (sums[passed] - sums[in_blocks_before]))
        for part, shift in ((first, 0), (second, half)):
            place = np.arange(len(part))
            events[place + place // half * half + shift] = part
        half //= 2
    return total
