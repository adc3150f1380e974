"""Distribution regression: P(score <= t | attributes) for all t at once, from counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unsculpt.decorrelators.axes import Axis, Curves

Floats = NDArray[np.float64]

SCORE_CURVES = 16
# Against drift where the penalties leave a curve free and hardly any event holds it.
RIDGE = 1e-3
# A bin of score and attributes weighs as if it held at least this share of what it holds on
# average: where signed weights cancel, a likelihood would grow without bound.
FLOOR = 0.05
WEAKEST, STRONGEST = 1e-6, 1e8
ITERATIONS, CLOSE, LONGEST_STEP = 100, 3e-3, 2.0


@dataclass(frozen=True)
class Distribution:
    """logit F(level | attributes) = logit(level) + a smooth surface over level and attributes.

    `level` is the inclusive CDF of the score, so a flat surface is the inclusive distribution.

    Attributes:
        coefficients: of the surface, (score curves, attribute curves).
        smoothing: the chosen strength of the penalty along the score and each attribute.
    """

    coefficients: Floats
    smoothing: Floats

    def table(self, levels: Floats, axes: list[Axis]) -> Floats:
        """Return F at the nodes of the axes and these levels, increasing along the levels.

        The levels end where those of the fit did.
        """
        surface = (
            _product([a.at_nodes for a in axes])
            @ (_score_curves(levels).at(logit(levels)) @ self.coefficients).T
        )
        # Sorting the values of curves that cross brings each closer to the truth
        # (Chernozhukov, Fernández-Val and Galichon, 2010).
        rising = np.sort(expit(surface + logit(levels)), axis=1)
        return rising.reshape(*(len(a.nodes) for a in axes), len(levels))


def fit_distribution(counts: Floats, levels: Floats, axes: list[Axis]) -> Distribution:
    """Fit the surface to weighted counts by penalised maximum likelihood.

    Multinomial Fisher scoring; after each step the strength of each penalty is set by the
    update of Fellner and Schall (Wood and Fasiolo, 2017), which climbs the marginal likelihood.
    Weights may have any scale and sign: their dispersion is measured from the residuals.

    Args:
        counts: sums of weights, (*bins of the axes, len(levels) + 1).
        levels: inclusive CDF of the score at the thresholds between the bins of the score.
        axes: of the attributes.
    """
    counts = counts.reshape(-1, len(levels) + 1)
    events = counts.sum(axis=1, keepdims=True)
    score_curves = _score_curves(levels)
    along, over = score_curves.at(logit(levels)), _product([a.curves for a in axes])
    shape = along.shape[1], over.shape[1]
    pairs = _outer(over, over)
    # The counts between two thresholds know of these alone, so only neighbours are correlated.
    same, beside = _outer(along, along), _outer(along[:-1], along[1:])
    beside += _outer(along[1:], along[:-1])
    penalties = _penalties(score_curves.penalty, [a.penalty for a in axes])
    smoothing = np.ones(len(penalties))
    floor = FLOOR * np.diff(levels, prepend=0, append=1)
    theta = np.zeros(shape)

    for _ in range(ITERATIONS):
        cdf = expit(over @ (along @ theta).T + logit(levels))
        slope = cdf * (1 - cdf)
        share = np.diff(cdf, axis=1, prepend=0, append=1)
        weight = 1 / np.maximum(share, floor)
        residual = counts - events * share
        # One event spreads over all thresholds, so its size shows in the cumulative residuals.
        spread = (residual.cumsum(axis=1)[:, :-1] ** 2).sum() / (events * slope).sum()
        dispersion = max(spread, np.finfo(float).tiny)

        pull = slope * -np.diff(weight * residual, axis=1)
        gradient = along.T @ pull.T @ over
        # The size of the net count sets the length of a step only; the fit is where the
        # gradient vanishes, and that knows the signs.
        weight *= np.abs(events)
        information = same.T @ ((slope**2 * (weight[:, :-1] + weight[:, 1:])).T @ pairs)
        information -= beside.T @ ((slope[:, :-1] * slope[:, 1:] * weight[:, 1:-1]).T @ pairs)
        information = information.reshape(shape[0], shape[0], shape[1], shape[1])
        information = information.transpose(0, 2, 1, 3).reshape(theta.size, theta.size)

        prior = smoothing @ penalties
        covariance = np.linalg.inv(information / dispersion + np.diag(prior + RIDGE))
        step = covariance @ (gradient.ravel() / dispersion - (prior + RIDGE) * theta.ravel())
        longest = np.abs(over @ (along @ step.reshape(shape)).T).max()
        theta += step.reshape(shape) * min(1, LONGEST_STEP / longest)

        penalised = prior > 0
        gained = (penalties[:, penalised] / prior[penalised]).sum(axis=1) - penalties @ np.diag(
            covariance
        )
        update = gained / np.maximum(penalties @ theta.ravel() ** 2, np.finfo(float).tiny)
        smoothing = np.clip(smoothing * update, WEAKEST, STRONGEST)
        # A strength that still runs off to infinity moves nothing any more.
        if longest < CLOSE:
            break
    return Distribution(theta, smoothing)


def _score_curves(levels: Floats) -> Curves:
    low, high = logit(levels[[0, -1]])
    return Curves.smooth(low, high, SCORE_CURVES, order=2)


def _outer(a: Floats, b: Floats) -> Floats:
    """Return the products of the functions of one point, (points, functions of a times b)."""
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _product(curves: list[Floats]) -> Floats:
    """Return the products of the axes' functions, (points, functions)."""
    return np.asarray(reduce(lambda a, b: np.asarray(np.kron(a, b)), curves))


def _penalties(score: Floats, axes: list[Floats]) -> Floats:
    """Return what every coefficient costs along the score and each attribute, (1 + axes, k)."""
    grids = np.meshgrid(score, *axes, indexing="ij")
    # Categories cost nothing: there is no strength to choose.
    return np.array([grid.ravel() for grid in grids if grid.any()])
