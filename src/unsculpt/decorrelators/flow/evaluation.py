"""The conditional CDF of an ensemble of flows in NumPy.

The same map as in `unsculpt.flows`, without gradients: nothing has to be compiled, it needs no JAX,
and on a processor it is several times as fast. Members, numbers and events are the axes, in this
order, so that every step runs along the events. All is in double precision: in single precision
BLAS was seen to round by the place of an event in its block, and equal events must stay equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unsculpt.devices import one_blas_thread
from unsculpt.flows.numbers import BINS, BLOCKS, END, IDENTITY_SLOPE, LEAST, PLACES
from unsculpt.inputs import Floats

# Events at once: the hidden layers of all members then fit a core's cache.
BLOCK = 2**9
# Of the search for an inverse, in the logit: where, how near it comes, and the most steps; most
# events take six.
FARTHEST, CLOSE, NARROW, STEPS = 37.0, 1e-16, 1e-13, 100

Layer = tuple[Floats, Floats]
"""Weights, (members, outputs, inputs), and offsets, (members, outputs, 1)."""


def layers_of(parameters: Sequence[NDArray[Any]]) -> list[Layer]:
    """Return the layers of the networks from the arrays of a model file: weights, then offsets."""
    return [
        (np.asarray(weight, dtype=np.float64), np.asarray(offset, dtype=np.float64)[..., None])
        for weight, offset in zip(parameters[::2], parameters[1::2], strict=True)
    ]


class Spline(NamedTuple):
    """One layer of all members at some attributes; its arrays are (members, numbers, n).

    Attributes:
        places: what moves the logit before, as `_shift_logit` takes it; none in the paper's recipe.
        across, up: the knots, from 0 to 1.
        slopes: at the knots, as the network gives them.
    """

    places: Floats
    across: Floats
    up: Floats
    slopes: Floats


def mean_cdf(recipe: str, layers: Sequence[Layer], level: Floats, features: Floats) -> Floats:
    """Return the mean of the members' conditional CDFs."""

    def block(level: Floats, features: Floats) -> Floats:
        return _cdf(_splines(recipe, layers, features), level)

    return _in_blocks(block, level, features)


def inverse_of_mean(
    recipe: str, layers: Sequence[Layer], level: Floats, features: Floats
) -> Floats:
    """Return where the mean of the members' CDFs has a level: a mean of inverses it is not."""

    def block(level: Floats, features: Floats) -> Floats:
        return _inverse(_splines(recipe, layers, features), level)

    return _in_blocks(block, level, features)


def _in_blocks(
    function: Callable[[Floats, Floats], Floats], level: Floats, features: Floats
) -> Floats:
    # All blocks have one size, or rounding would depend on how many events come together.
    blocks = -(-len(level) // BLOCK)
    padded = np.zeros((blocks * BLOCK, features.shape[1]))
    padded[: len(features)] = features
    levels = np.full(blocks * BLOCK, 0.5)
    levels[: len(level)] = level
    with one_blas_thread():
        for start in range(0, len(levels), BLOCK):
            rows = slice(start, start + BLOCK)
            levels[rows] = function(levels[rows], padded[rows])
    return levels[: len(level)]


def _splines(recipe: str, layers: Sequence[Layer], features: Floats) -> list[Spline]:
    """Return the splines that the networks make at these attributes."""
    x = np.ascontiguousarray(features.T)
    if recipe == "paper":
        size = 2 * BLOCKS + 2  # layers of a network
        networks = [layers[i : i + size] for i in range(0, len(layers), size)]
        return [_spline(_residual(network, x), 0) for network in networks]
    *hidden, last = layers
    for layer in hidden:
        x = _linear(layer, x)
        np.tanh(x, out=x)
    return [_spline(_linear(last, x), PLACES)]


def _residual(layers: Sequence[Layer], features: Floats) -> Floats:
    first, *blocks, last = layers
    x = _linear(first, features)
    for inner, outer in zip(blocks[::2], blocks[1::2], strict=True):
        x = x + _linear(outer, np.maximum(_linear(inner, np.maximum(x, 0)), 0))
    return _linear(last, x)


def _linear(layer: Layer, x: Floats) -> Floats:
    weight, offset = layer
    out: Floats = weight @ x
    out += offset
    return out


def _spline(numbers: Floats, places: int) -> Spline:
    own, steps, slopes = np.split(numbers, [places, places + 2 * BINS], axis=1)
    members, _, events = steps.shape
    across, up = _knots(steps.reshape(members, 2, BINS, events).swapaxes(0, 1))
    if places:
        shift, log_width, *ends = own.swapaxes(0, 1)
        own = np.stack([shift, np.exp(-log_width), *(np.expm1(-end) for end in ends)])
    return Spline(own, across, up, np.ascontiguousarray(slopes))


def _knots(numbers: Floats) -> Floats:
    """Return knots from 0 to 1; a softmax with a floor says how far apart they are."""
    size = np.exp(numbers - numbers.max(axis=2, keepdims=True))
    size *= (1 - BINS * LEAST) / size.sum(axis=2, keepdims=True)
    size += LEAST
    knots = np.zeros((*size.shape[:2], BINS + 1, size.shape[3]))
    for i in range(BINS - 1):
        np.add(knots[:, :, i], size[:, :, i], out=knots[:, :, i + 1])
    knots[:, :, BINS] = 1
    return knots


def _cdf(splines: Sequence[Spline], level: Floats) -> Floats:
    x = level[None]
    for spline in splines:
        if spline.places.size:
            x = _shift_logit(x, *spline.places)
        x = _evaluate(spline, x)
    return np.asarray(x.mean(axis=0))


def _inverse(splines: Sequence[Spline], level: Floats) -> Floats:
    """Return where the mean of the members' CDFs has each level.

    By secants in the logit, where the CDF is nearly straight, between bounds. The error that a
    step leaves is about the product of the last two, so that says when to stop.
    """
    target = _logit(level)
    x, found = target, np.empty_like(level)
    if splines[0].places.size:
        shift, scale, *_ = splines[0].places
        x = (target / scale + shift).mean(axis=0)
    low, high = np.full_like(level, -FARTHEST), np.full_like(level, FARTHEST)
    excess = _logit(_cdf(splines, expit(x))) - target
    step, before = -excess, np.ones_like(x)
    events, active = np.arange(len(level)), np.full(len(level), True)
    for _ in range(STEPS):
        below = excess < 0
        low, high = np.where(below, x, low), np.where(below, high, x)
        after = x + step
        astray = ~((low < after) & (after < high))
        after = np.where(astray, (low + high) / 2, after)
        step = after - x
        exact = excess == 0
        close = (np.abs(step * before) < CLOSE) & ~astray
        done = active & (exact | close | (high - low < NARROW))
        found[events[done]] = np.where(exact, x, after)[done]
        active &= ~done
        rest = np.flatnonzero(active)
        if not len(rest):
            break
        if len(rest) < 0.7 * len(active):
            splines = [Spline(*(part.take(rest, axis=-1) for part in each)) for each in splines]
            events, active = events[rest], active[rest]
            target, low, high, x, after, step, excess = (
                each[rest] for each in (target, low, high, x, after, step, excess)
            )
        now = _logit(_cdf(splines, expit(after))) - target
        with np.errstate(divide="ignore", invalid="ignore"):
            following = -now * step / (now - excess)
        x, excess, before, step = after, now, step, following
    found[events[active]] = x[active]
    return np.asarray(expit(found))


def _shift_logit(x: Floats, shift: Floats, scale: Floats, above: Floats, below: Floats) -> Floats:
    """Shift and stretch the logit, and what is above and below END once more."""
    middle = (_logit(x) - shift) * scale
    after = middle + above * _softplus(middle - END) - below * _softplus(-middle - END)
    return np.asarray(expit(after))


def _evaluate(spline: Spline, x: Floats) -> Floats:
    """Return the monotone rational-quadratic spline of Gregory and Delbourgo at x on [0, 1]."""
    members, _, events = spline.across.shape
    left = np.zeros((members, events), dtype=np.int64)
    for i in range(1, BINS):
        left += spline.across[:, i] < x
    # Where the knot before each x stands when an array is read through.
    left *= events
    left += np.arange(events) + (BINS + 1) * events * np.arange(members)[:, None]

    def ends(values: Floats) -> tuple[Floats, Floats]:
        flat = values.ravel()
        return flat.take(left), flat[events:].take(left)

    (x0, x1), (y0, y1), slopes = ends(spline.across), ends(spline.up), ends(spline.slopes)
    d0, d1 = (_softplus(slope + IDENTITY_SLOPE) + LEAST for slope in slopes)
    run, rise = x1 - x0, y1 - y0
    secant, t = rise / run, (x - x0) / run
    both = t * (1 - t)
    y = y0 + rise * (secant * t * t + d0 * both) / (secant + (d0 + d1 - 2 * secant) * both)
    return np.clip(y, 0, 1)


def _logit(x: Floats) -> Floats:
    edge = np.finfo(float).eps
    x = np.clip(x, edge, 1 - edge)
    return np.asarray(np.log(x) - np.log1p(-x))


def _softplus(x: Floats) -> Floats:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
