"""Distribution regression: P(score <= t | attributes) for all t at once, from counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.special import expit, logit, ndtr, ndtri

from unsculpt.decorrelators.spline.axes import (
    Axis,
    Smoothness,
    Term,
    b_splines,
    design,
    terms_of,
)
from unsculpt.devices import cores
from unsculpt.inputs import Floats

# Functions of the score to begin with, and how many combinations of them the fit then keeps.
SCORE_CURVES, DIRECTIONS = 24, 6
# Against drift where the penalties leave a function free and hardly any event holds it.
RIDGE, SMALLEST, NOTHING = 1e-3, 1e-12, 1e-200
# A bin of score and attributes weighs as if it held at least this share of what it holds on
# average: where signed weights cancel, a likelihood would grow without bound.
FLOOR = 0.05
WEAKEST, STRONGEST = 1e-6, 1e8
PARTS = 10  # of the score, in which weights of both signs may cancel differently
ITERATIONS, CLOSE, LONGEST_STEP = 100, 0.1, 1.0
FIRST_ITERATIONS, FIRST_CLOSE, FIRST = 30, 1.0, Smoothness(curves=24, regions=1, order=2)


Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


class Link(NamedTuple):
    """A scale on which a probability is any number: that of a latent score."""

    cdf: Callable[[Floats], Floats]
    inverse: Callable[[Floats], Floats]
    density: Callable[[Floats], Floats]


LINKS = {
    "logit": Link(expit, logit, lambda x: np.asarray(expit(x) * expit(-x))),
    "probit": Link(ndtr, ndtri, lambda x: np.asarray(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))),
}
# Three fits that differ in what they call smooth. Their mean is closer to the truth than each.
MEMBERS = (
    ("logit", Smoothness(curves=40, regions=8, order=2)),
    ("logit", Smoothness(curves=32, regions=5, order=3)),
    ("probit", Smoothness(curves=48, regions=12, order=2)),
)


@dataclass(frozen=True)
class Distribution:
    """link F(level | attributes) = link(level) + a smooth surface over both.

    `level` is the inclusive CDF of the score, so a flat surface is the inclusive distribution. The
    surface is a sum of a few functions of the score times smooth functions of the attributes.

    Attributes:
        member: its place among the MEMBERS.
        curves: B-splines along an attribute that it has at most.
        directions: the functions of the score, by their B-splines, (score curves, directions).
        coefficients: of the functions of the attributes, (directions, functions).
        freedom: how many parameters the penalties leave free, in effect.
        dispersion: the weight of an event, as the scatter of the counts shows it.
    """

    member: int
    curves: int
    directions: Floats
    coefficients: Floats
    freedom: float
    dispersion: float

    def table(self, levels: Floats, axes: Sequence[Axis]) -> Floats:
        """Return F at the nodes of the axes and these levels, increasing along the levels.

        The levels end where those of the fit did.
        """
        name, how = MEMBERS[self.member]
        start = LINKS[name].inverse(levels)
        along = _score_curves(start) @ self.directions
        terms = terms_of(axes, how.within(self.curves))
        over = design(terms, axes, [axis.nodes for axis in axes])
        surface = (over @ self.coefficients.T) @ along.T
        # Sorting the values of curves that cross brings each closer to the truth
        # (Chernozhukov, Fernández-Val and Galichon, 2010).
        rising = np.sort(LINKS[name].cdf(surface + start), axis=1)
        return rising.reshape(*(len(a.nodes) for a in axes), len(levels))


def fit_distributions(
    counts: Floats, sizes: Floats, levels: Floats, axes: Sequence[Axis], curves: int
) -> list[Distribution]:
    """Fit the surface to weighted counts, once for each of the MEMBERS.

    First with many functions of the score, each times a few functions of every attribute. What a
    shift of the latent score does to its distribution, and what a stretch does, is one function of
    the score each, whatever the distribution is; so the surface that comes out has few directions
    that matter. These are kept, and fitted again with many functions of the attributes.

    Args:
        counts: sums of weights, (*bins of the axes, len(levels) + 1).
        sizes: sums of weights without their signs, (len(levels) + 1,).
        levels: inclusive CDF of the score at the thresholds between the bins of the score.
        axes: of the attributes.
        curves: B-splines along an attribute, at most: few events cannot hold many.
    """

    def fit(member: int) -> Distribution:
        name, how = MEMBERS[member]
        terms = terms_of(axes, how.within(curves))
        turn, penalty = directions[name]
        along = _score_curves(LINKS[name].inverse(levels)) @ turn
        found = _fit(counts, noise, levels, axes, name, along, terms, penalty)
        return Distribution(member, curves, turn, found.theta, found.freedom, found.dispersion)

    noise = _noise(counts, sizes)
    with ThreadPoolExecutor(cores()) as pool:
        find = partial(_find_directions, counts, noise, levels, axes, curves)
        directions = dict(zip(LINKS, pool.map(find, LINKS), strict=True))
        return list(pool.map(fit, range(len(MEMBERS))))


def _noise(counts: Floats, sizes: Floats) -> Floats:
    """Return how much more than on average the counts in each part of the score scatter.

    Where weights of both signs cancel, a count knows less than its size says. Wide parts: by itself
    a bin that happens to be large would seem to know more.
    """
    sums = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    window = np.ones(max(len(sums) // PARTS, 1))
    net, size = (np.convolve(x, window, "same") for x in (sums, sizes))
    # One where nothing cancels, or where there is nothing.
    cancelled = np.divide(net, size, out=np.ones(len(sums)), where=size > 0)
    return np.asarray(sums.sum() / sizes.sum() / np.maximum(cancelled, FLOOR))


def _find_directions(
    counts: Floats,
    noise: Floats,
    levels: Floats,
    axes: Sequence[Axis],
    curves: int,
    name: str,
) -> tuple[Floats, Floats | None]:
    """Return the functions of the score along which the attributes change it most.

    All functions, and what each costs, if the attributes have no more than DIRECTIONS functions.
    """
    start = LINKS[name].inverse(levels)
    turn, penalty = _smooth_directions(SCORE_CURVES)
    terms = terms_of(axes, FIRST.within(curves))
    terms = [term for term in terms if sum(map(bool, term.curves)) < 2]
    if sum(term.size for term in terms) <= DIRECTIONS:
        return turn, penalty
    along = _score_curves(start) @ turn
    fit = _fit(
        counts, noise, levels, axes, name, along, terms, penalty, FIRST_ITERATIONS, FIRST_CLOSE
    )
    # What counts is how much a direction changes the likelihood: its information.
    metric = np.empty((len(penalty), len(penalty)))
    first, second = np.triu_indices(len(penalty))
    metric[first, second] = metric[second, first] = fit.information.sum(axis=-1)
    metric /= np.trace(metric)
    root = np.linalg.cholesky(metric + 1e-9 * np.eye(len(metric)))
    surface = fit.theta @ design(terms, axes, [axis.centres for axis in axes]).T
    events = np.abs(counts.reshape(-1, counts.shape[-1]).sum(axis=1))
    left, _, _ = np.linalg.svd(root.T @ surface * np.sqrt(events), full_matrices=False)
    return turn @ np.linalg.solve(root.T, left[:, :DIRECTIONS]), None


class _Fit(NamedTuple):
    """A fitted surface.

    Attributes:
        theta: its coefficients, (functions of the score, functions of the attributes).
        information: on pairs of functions of the score in each cell, (pairs, cells).
        freedom, dispersion: as in `Distribution`.
    """

    theta: Floats
    information: Floats
    freedom: float
    dispersion: float


def _fit(
    counts: Floats,
    noise: Floats,
    levels: Floats,
    axes: Sequence[Axis],
    name: str,
    along: Floats,
    terms: Sequence[Term],
    score_penalty: Floats | None = None,
    iterations: int = ITERATIONS,
    close: float = CLOSE,
) -> _Fit:
    """Maximise the penalised likelihood.

    Multinomial Fisher scoring; after each step the strength of each penalty is set by the
    update of Fellner and Schall (Wood and Fasiolo, 2017), which climbs the marginal likelihood.
    Weights may have any scale and sign: their dispersion is measured from the residuals.

    Args:
        counts: as in `fit_distributions`.
        levels: as in `fit_distributions`.
        axes: as in `fit_distributions`.
        noise: how much more than on average the counts scatter in each bin of the score.
        name: of the link.
        along: functions of the score at the levels, (levels, functions).
        terms: functions of the attributes.
        score_penalty: what each function of the score costs.
        iterations: at most.
        close: a step that raises the penalised likelihood by less than half of this is the last.
    """
    link = LINKS[name]
    start = link.inverse(levels)
    shape = tuple(axis.bins for axis in axes)
    counts = counts.reshape(-1, len(levels) + 1)
    events = counts.sum(axis=1, keepdims=True)
    centres = [axis.centres for axis in axes]
    over = design(terms, axes, centres)
    parts = [term.parts(axes, centres) for term in terms]
    # The counts between two thresholds know of these alone, so only neighbours are correlated.
    pairs = np.triu_indices(along.shape[1])
    same = _pairs(along, along, pairs)
    beside = _pairs(along[:-1], along[1:], pairs) + _pairs(along[1:], along[:-1], pairs)
    penalties = _Penalties.of(terms, along.shape[1], score_penalty)
    floor = FLOOR * np.diff(levels, prepend=0, append=1)
    theta = np.zeros((along.shape[1], over.shape[1]))

    for _ in range(iterations):
        latent = (over @ theta.T) @ along.T + start
        cdf, slope = link.cdf(latent), link.density(latent)
        share = np.diff(cdf, axis=1, prepend=0, append=1)
        weight = 1 / (noise * np.maximum(share, floor))
        residual = counts - events * share
        # One event spreads over all thresholds, so its size shows in the cumulative residuals.
        scatter = (residual.cumsum(axis=1)[:, :-1] ** 2).sum() / (events * cdf * (1 - cdf)).sum()

        pull = slope * -np.diff(weight * residual, axis=1)
        gradient = (pull @ along).T @ over
        # The size of the net count sets the length of a step only; the fit is where the
        # gradient vanishes, and that knows the signs.
        weight *= np.abs(events)
        cells = same.T @ (slope**2 * (weight[:, :-1] + weight[:, 1:])).T
        cells -= beside.T @ (slope[:, :-1] * slope[:, 1:] * weight[:, 1:-1]).T
        information = _summed(cells.reshape(-1, *shape), parts, pairs)
        # Counts that scatter far less than events do would let rounding hide the ridge.
        dispersion = float(max(scatter, SMALLEST * np.trace(information)))

        prior = penalties.prior()
        information /= dispersion
        for block, own in zip(_blocks(information, len(theta)), prior, strict=True):
            block += own
        root, lower = _factor(information)
        pulled = gradient / dispersion - np.einsum("jkl,jl->jk", prior, theta)
        step = cho_solve((root, lower), pulled.ravel()).reshape(theta.shape)
        # Half the work of an inverse; of it the upper half is filled.
        variance = np.array([np.triu(b) for b in _blocks(dpotri(root, lower)[0], len(theta))])
        variance += np.triu(variance, 1).transpose(0, 2, 1)
        longest = np.abs((over @ step.T) @ along.T).max()
        theta += step * min(1, LONGEST_STEP / max(longest, NOTHING))
        penalties.update(theta, np.linalg.inv(prior) - variance)
        # A strength that still runs off to infinity moves nothing any more.
        if (step * pulled).sum() < close:
            break
    freedom = float(theta.size - (prior * variance).sum())
    return _Fit(theta, cells, freedom, dispersion)


@dataclass
class _Penalties:
    """What the coefficients of each function of the score cost, and how strongly.

    Attributes:
        slices: the coefficients that each matrix is for.
        matrices: of each term, one for each strength.
        strengths: (functions of the score, matrices).
        score: what each function of the score costs; its strength is the same for all.
        score_strength: that strength.
        functions: how many coefficients there are for a function of the score.
    """

    slices: list[slice]
    matrices: list[Floats]
    strengths: Floats
    score: Floats
    score_strength: float
    functions: int

    @classmethod
    def of(cls, terms: Sequence[Term], directions: int, score: Floats | None) -> _Penalties:
        """Start with strengths of one.

        Functions of the score that cost something share their strengths.
        """
        slices, matrices, first = [], [], 0
        for term in terms:
            slices += [slice(first, first + term.size)] * len(term.penalties)
            matrices += term.penalties
            first += term.size
        strengths = np.ones((directions, len(matrices)))
        return cls(slices, matrices, strengths, _or_zeros(score, directions), 1.0, first)

    def prior(self) -> Floats:
        """Return the information that the penalties are worth, (directions, k, k)."""
        prior = np.zeros((len(self.strengths), self.functions, self.functions))
        for i, (where, matrix) in enumerate(zip(self.slices, self.matrices, strict=True)):
            prior[:, where, where] += self.strengths[:, i, None, None] * matrix
        everywhere = RIDGE + self.score_strength * self.score
        return prior + everywhere[:, None, None] * np.eye(self.functions)

    def update(self, theta: Floats, gained: Floats) -> None:
        """Set the strengths by what was gained over the prior and by the size of coefficients."""
        costly = self.score > 0
        for i, (where, matrix) in enumerate(zip(self.slices, self.matrices, strict=True)):
            gain = (gained[:, where, where] * matrix).sum(axis=(1, 2))
            size = np.einsum("jk,kl,jl->j", theta[:, where], matrix, theta[:, where])
            gain[costly], size[costly] = gain[costly].sum(), size[costly].sum()
            self.strengths[:, i] = _updated(self.strengths[:, i], gain, size)
        if costly.any():
            gain = self.score @ np.trace(gained, axis1=1, axis2=2)
            size = self.score @ (theta**2).sum(axis=1)
            self.score_strength = float(_updated(self.score_strength, gain, size))


def _updated(strength: Floats | float, gain: Floats, size: Floats) -> Floats:
    new = strength * np.maximum(gain, SMALLEST) / np.maximum(size, NOTHING)
    return np.asarray(np.clip(new, WEAKEST, STRONGEST))


def _or_zeros(values: Floats | None, count: int) -> Floats:
    return np.zeros(count) if values is None else values


def _factor(matrix: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of a matrix, which is changed.

    Where rounding has made it indefinite, a little is added: a shorter step, that ends at the same
    place.
    """
    more = 0.0
    while True:
        try:
            factor: tuple[Floats, bool] = cho_factor(matrix)
        except np.linalg.LinAlgError:
            more = max(10 * more, np.finfo(float).eps * np.trace(matrix))
            np.fill_diagonal(matrix, matrix.diagonal() + more)
        else:
            return factor


def _score_curves(start: Floats) -> Floats:
    """Return B-splines of the latent score, (levels, SCORE_CURVES)."""
    return b_splines(start, start[0], start[-1], SCORE_CURVES)


def _smooth_directions(count: int) -> tuple[Floats, Floats]:
    """Return combinations of B-splines, and what each costs: a shift and a stretch cost nothing."""
    differences = np.diff(np.eye(count), 2, axis=0)
    penalty, turn = np.linalg.eigh(differences.T @ differences)
    shift_and_stretch = np.vander(np.linspace(-1, 1, count), 2, increasing=True)
    turn[:, :2] = np.linalg.qr(shift_and_stretch)[0]
    penalty[:2] = 0
    return turn, penalty


def _outer(a: Floats, b: Floats) -> Floats:
    """Return the products of the functions of one point, (points, functions of a times b)."""
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _pairs(a: Floats, b: Floats, pairs: Pairs) -> Floats:
    """Return the products of pairs of functions of one point, (points, pairs)."""
    return np.asarray(a[:, pairs[0]] * b[:, pairs[1]])


def _blocks(matrix: Floats, count: int) -> list[Floats]:
    """Return views of the square blocks along the diagonal."""
    size = len(matrix) // count
    return [matrix[i : i + size, i : i + size] for i in range(0, len(matrix), size)]


def _summed(cells: Floats, parts: list[list[Floats]], pairs: Pairs) -> Floats:
    """Return the sums over all cells of pairs of score functions times pairs of the terms'.

    One axis after the other, which takes a small part of what their product would.

    Args:
        cells: (pairs of score functions, *bins of the axes).
        parts: of each term, the functions along each axis.
        pairs: the functions of the score in each pair.

    Returns:
        (score functions times functions of the terms, the same again).
    """
    first, second = pairs
    directions = first[-1] + 1
    sizes = [int(np.prod([part.shape[1] for part in term])) for term in parts]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    total = np.empty((directions, ends[-1], directions, ends[-1]))
    for i, j in product(range(len(parts)), repeat=2):
        if i > j:
            continue
        block = cells
        for a, b in zip(parts[i], parts[j], strict=True):
            block = np.tensordot(block, _outer(a, b), (1, 0))
        # Functions of the first term, then those of the second.
        split = [
            n for a, b in zip(parts[i], parts[j], strict=True) for n in (a.shape[1], b.shape[1])
        ]
        block = block.reshape(-1, *split)
        axes = range(1, block.ndim, 2)
        block = block.transpose(0, *axes, *(axis + 1 for axis in axes))
        block = block.reshape(-1, sizes[i], sizes[j])
        here, there = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        for one, other in ((first, second), (second, first)):
            total[one, here, other, there] = block
            total[one, there, other, here] = block.transpose(0, 2, 1)
    return total.reshape(directions * ends[-1], -1)
