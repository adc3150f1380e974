"""Distribution regression: P(score <= t | attributes) for all t at once, from counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import expit, logit, ndtr, ndtri

from unsculpt.decorrelators.spline.axes import Axis, Curves
from unsculpt.inputs import Floats

SCORE_CURVES = 12
# Against drift where the penalties leave a curve free and hardly any event holds it.
RIDGE, SMALLEST = 1e-3, 1e-12
# A bin of score and attributes weighs as if it held at least this share of what it holds on
# average: where signed weights cancel, a likelihood would grow without bound.
FLOOR = 0.05
WEAKEST, STRONGEST = 1e-6, 1e8
ITERATIONS, CLOSE, LONGEST_STEP = 100, 3e-3, 1.0


class Link(NamedTuple):
    """A scale on which a probability is any number: that of a latent score."""

    cdf: Callable[[Floats], Floats]
    inverse: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]


LINKS = {
    "logit": Link(expit, logit, lambda x: np.asarray(expit(x) * expit(-x))),
    "probit": Link(ndtr, ndtri, lambda x: np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))),
}


@dataclass(frozen=True)
class Distribution:
    """link F(level | attributes) = link(level) + a smooth surface over both.

    `level` is the inclusive CDF of the score, so a flat surface is the inclusive distribution.

    Attributes:
        link: "logit" or "probit".
        coefficients: of the surface, (score curves, attribute curves).
        smoothing: the chosen strength of each penalty.
        freedom: how many parameters the penalties leave free, in effect.
        likelihood: the logarithm of it, but for a constant.
        dispersion: the weight of an event, as the scatter of the counts shows it.
    """

    link: str
    coefficients: Floats
    smoothing: Floats
    freedom: float
    likelihood: float
    dispersion: float

    def table(self, levels: Floats, axes: list[Axis]) -> Floats:
        """Return F at the nodes of the axes and these levels, increasing along the levels.

        The levels end where those of the fit did.
        """
        link = LINKS[self.link]
        start = link.inverse(levels)
        along, over = _score_curves(start).at(start), _product([a.at_nodes for a in axes])
        # Sorting the values of curves that cross brings each closer to the truth
        # (Chernozhukov, Fernández-Val and Galichon, 2010).
        rising = np.sort(link.cdf(over @ (along @ self.coefficients).T + start), axis=1)
        return rising.reshape(*(len(a.nodes) for a in axes), len(levels))


def fit_distribution(counts: Floats, levels: Floats, axes: list[Axis]) -> Distribution:
    """Fit the surface to weighted counts; the link is the one with the better AIC.

    With its own link a latent score that is shifted and stretched, normal or logistic, is a
    surface without wiggles: it costs hardly any freedom.

    Args:
        counts: sums of weights, (*bins of the axes, len(levels) + 1).
        levels: inclusive CDF of the score at the thresholds between the bins of the score.
        axes: of the attributes.
    """
    fits = [_fit(counts, levels, axes, link) for link in LINKS]
    unit = fits[0].dispersion
    return min(fits, key=lambda fit: fit.freedom - fit.likelihood / unit)


def _fit(counts: Floats, levels: Floats, axes: list[Axis], name: str) -> Distribution:
    """Maximise the penalised likelihood.

    Multinomial Fisher scoring; after each step the strength of each penalty is set by the
    update of Fellner and Schall (Wood and Fasiolo, 2017), which climbs the marginal likelihood.
    Weights may have any scale and sign: their dispersion is measured from the residuals.
    """
    link = LINKS[name]
    start = link.inverse(levels)
    counts = counts.reshape(-1, len(levels) + 1)
    events = counts.sum(axis=1, keepdims=True)
    score_curves = _score_curves(start)
    along, over = score_curves.at(start), _product([a.curves for a in axes])
    shape = along.shape[1], over.shape[1]
    pairs = [_outer(a.curves, a.curves) for a in axes]
    # The counts between two thresholds know of these alone, so only neighbours are correlated.
    same, beside = _outer(along, along), _outer(along[:-1], along[1:])
    beside += _outer(along[1:], along[:-1])
    penalties = _penalties(score_curves.penalty, [a.penalty for a in axes])
    smoothing = np.ones(len(penalties))
    floor = FLOOR * np.diff(levels, prepend=0, append=1)
    theta = np.zeros(shape)

    for _ in range(ITERATIONS):
        latent = over @ (along @ theta).T + start
        cdf, slope = link.cdf(latent), link.density(latent)
        share = np.diff(cdf, axis=1, prepend=0, append=1)
        weight = 1 / np.maximum(share, floor)
        residual = counts - events * share
        # One event spreads over all thresholds, so its size shows in the cumulative residuals.
        scatter = (residual.cumsum(axis=1)[:, :-1] ** 2).sum() / (events * cdf * (1 - cdf)).sum()

        pull = slope * -np.diff(weight * residual, axis=1)
        gradient = along.T @ pull.T @ over
        # The size of the net count sets the length of a step only; the fit is where the
        # gradient vanishes, and that knows the signs.
        weight *= np.abs(events)
        information = same.T @ (slope**2 * (weight[:, :-1] + weight[:, 1:])).T
        information -= beside.T @ (slope[:, :-1] * slope[:, 1:] * weight[:, 1:-1]).T
        information = _summed(information, pairs).reshape(theta.size, theta.size)
        # Counts that scatter far less than events do would let rounding hide the ridge.
        dispersion = max(scatter, SMALLEST * np.trace(information))

        prior = smoothing @ penalties
        root, lower = _factor(information / dispersion, prior + RIDGE)
        pulled = gradient.ravel() / dispersion - (prior + RIDGE) * theta.ravel()
        step = cho_solve((root, lower), pulled)
        variance = np.diag(dpotri(root, lower)[0])  # half the work of an inverse
        longest = np.abs(over @ (along @ step.reshape(shape)).T).max()
        theta += step.reshape(shape) * min(1, LONGEST_STEP / longest)

        penalised = prior > 0
        gained = (penalties[:, penalised] / prior[penalised]).sum(axis=1) - penalties @ variance
        update = gained / np.maximum(penalties @ theta.ravel() ** 2, np.finfo(float).tiny)
        smoothing = np.clip(smoothing * update, WEAKEST, STRONGEST)
        # A strength that still runs off to infinity moves nothing any more.
        if longest < CLOSE:
            break
    freedom = float(theta.size - (prior + RIDGE) @ variance)
    likelihood = float((counts * np.log(np.maximum(share, floor))).sum())
    return Distribution(name, theta, smoothing, freedom, likelihood, float(dispersion))


def _factor(information: Floats, diagonal: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of the information with a diagonal added.

    Where rounding has made the sum indefinite, a little more is added: a shorter step, that ends
    at the same place.
    """
    more, matrix = 0.0, information + np.diag(diagonal)
    while True:
        try:
            factor: tuple[Floats, bool] = cho_factor(matrix)
        except np.linalg.LinAlgError:
            more = max(10 * more, np.finfo(float).eps * np.trace(matrix))
            np.fill_diagonal(matrix, matrix.diagonal() + more)
        else:
            return factor


def _score_curves(start: Floats) -> Curves:
    return Curves.smooth(start[0], start[-1], SCORE_CURVES, order=2)


def _outer(a: Floats, b: Floats) -> Floats:
    """Return the products of the functions of one point, (points, functions of a times b)."""
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _summed(terms: Floats, pairs: list[Floats]) -> Floats:
    """Return the sums over all points of terms times the pairs of functions of every axis.

    One axis after the other, which takes a small part of what their product would.

    Args:
        terms: (pairs of score functions, points).
        pairs: of each axis, (points along it, pairs of functions).

    Returns:
        (score functions and functions of every axis, the same again).
    """
    total = terms.reshape(-1, *(len(p) for p in pairs))
    for p in pairs:
        total = np.tensordot(total, p, (1, 0))
    axes = range(total.ndim)
    total = total.reshape([math.isqrt(n) for n in total.shape for _ in range(2)])
    return np.asarray(total.transpose(*(2 * i for i in axes), *(2 * i + 1 for i in axes)))


def _product(curves: list[Floats]) -> Floats:
    """Return the products of the axes' functions, (points, functions)."""
    return np.asarray(reduce(lambda a, b: np.asarray(np.kron(a, b)), curves))


def _penalties(score: Floats, axes: list[Floats]) -> Floats:
    """Return what every coefficient costs, one row for each strength to choose.

    Along the score; and along each attribute, for the shift and stretch of the latent score, which
    the first leaves free, and for the rest, which needs less freedom.
    """
    along, *others = np.meshgrid(score, *axes, indexing="ij")
    shift = along == 0
    grids = [along, *(over * part for over in others for part in (shift, ~shift))]
    # Categories cost nothing: there is no strength to choose.
    return np.array([grid.ravel() for grid in grids if grid.any()])
