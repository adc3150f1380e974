"""Bins of the protected attribute with equal shares of the events."""

from typing import Any, NamedTuple

from unsculpt.penalties._arrays import Array, ratio


class Bins(NamedTuple):
    """What the penalty knows of the protected attribute."""

    share: Array  # of all events, by bin
    measure: Array  # the part of the attribute's range, by bin
    jump: Array  # by which an event lifts the distribution function of its bin, by event and bin
    linear: Array  # mean of the attribute, scaled to [-1, 1], by bin
    quadratic: Array  # mean of the second Legendre polynomial of it, by bin


def equal_bins(xp: Any, attribute: Array, weight: Array, bins: int) -> Bins:
    """Return bins of equal weight, for events in order of the attribute."""
    reached = xp.cumulative_sum(xp.abs(weight), include_initial=True)
    ends = [xp.searchsorted(attribute, attribute, side=side) for side in ("left", "right")]
    level = ratio(xp, reached[ends[0]] + reached[ends[1]], 2 * reached[-1])
    index = xp.clip(xp.astype(bins * level, xp.int32), 0, bins - 1)
    member = index[:, None] == xp.arange(bins, dtype=xp.int32)[None, :]

    weight = xp.where(member, weight[:, None], 0.0)
    content = xp.sum(weight, axis=0)
    jump = ratio(xp, weight, content)
    share = ratio(xp, xp.clip(content, 0), xp.sum(xp.clip(content, 0)))

    scaled = 2 * ratio(xp, attribute - attribute[0], attribute[-1] - attribute[0]) - 1
    first = xp.searchsorted(index, xp.arange(1, bins, dtype=xp.int32), side="left")
    last = attribute.shape[0] - 1
    inner = (scaled[xp.clip(first - 1, 0)] + scaled[xp.clip(first, max=last)]) / 2
    edges = xp.concat([scaled[:1], inner, scaled[-1:]])
    width = xp.where(content > 0, edges[1:] - edges[:-1], 0.0)
    # A constant attribute has no range to divide.
    measure = xp.where(xp.sum(width) <= 0, share, ratio(xp, width, xp.sum(width)))

    def mean(x: Array) -> Array:
        return xp.sum(jump * x[:, None], axis=0)

    return Bins(share, measure, jump, mean(scaled), mean((3 * scaled**2 - 1) / 2))
