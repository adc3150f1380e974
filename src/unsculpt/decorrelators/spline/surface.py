"""A smooth surface fitted to counts: the likelihood, its penalties and the climb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from unsculpt.decorrelators.spline.axes import Axis, Term, design
from unsculpt.decorrelators.spline.link import Link
from unsculpt.decorrelators.spline.penalties import NOTHING, SMALLEST, Penalties
from unsculpt.inputs import Floats

# A bin of score and attributes weighs as if it held at least this share of what it holds on
# average: where signed weights cancel, a likelihood would grow without bound.
FLOOR = 0.05
ITERATIONS, CLOSE, LONGEST_STEP = 100, 0.1, 1.0
STIFFER_ITERATIONS = 10
SETTLED = 0.5  # the scatter falls by less than half in a step

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


class Surface(NamedTuple):
    """A fitted surface.

    Attributes:
        theta: its coefficients, (functions of the score, functions of the attributes).
        freedom: how many parameters the penalties leave free, in effect.
        dispersion: the weight of an event, as the scatter of the counts shows it.
        penalties: with the strengths that were chosen.
    """

    theta: Floats
    freedom: float
    dispersion: float
    penalties: Penalties


def fit_surface(
    problem: Problem,
    terms: Sequence[Term],
    score_penalty: Floats | None = None,
    iterations: int = ITERATIONS,
    close: float = CLOSE,
    stiffness: float = 1.0,
) -> Surface:
    """Maximise the penalised likelihood.

    Multinomial Fisher scoring; after each step the strength of each penalty is set by the
    update of Fellner and Schall (Wood and Fasiolo, 2017), which climbs the marginal likelihood.
    Weights may have any scale and sign: their dispersion is measured from the residuals.

    Args:
        problem: the counts and what may describe them.
        terms: functions of the attributes, those of the problem.
        score_penalty: what each function of the score costs.
        iterations: at most.
        close: a step that raises the penalised likelihood by less than half of this is the last.
        stiffness: in the end the surface, not the strengths that are returned, is made stiffer by
            this factor.
    """
    over, along = problem.over, problem.along
    penalties = Penalties.start(terms, along.shape[1], score_penalty)
    theta = np.zeros((along.shape[1], over.shape[1]))
    before, chosen = np.inf, False

    for iteration in range(iterations + STIFFER_ITERATIONS * (stiffness != 1)):
        gradient, information, scatter = problem.at(theta)
        # Counts that scatter far less than events do would let rounding hide the ridge.
        dispersion = float(max(scatter, SMALLEST * np.trace(information)))

        prior = penalties.prior(stiffness if chosen else 1.0)
        root, lower = with_prior(information, dispersion, prior)
        pulled = gradient / dispersion - np.einsum("jkl,jl->jk", prior, theta)
        step = cho_solve((root, lower), pulled.ravel()).reshape(theta.shape)
        # Half the work of an inverse; of it the upper half is filled.
        variance = np.array([np.triu(b) for b in _blocks(dpotri(root, lower)[0], len(theta))])
        variance += np.triu(variance, 1).transpose(0, 2, 1)
        longest = np.abs((over @ step.T) @ along.T).max()
        theta += step * min(1, LONGEST_STEP / max(longest, NOTHING))
        # What is still to be fitted scatters too: strengths chosen by it would forbid to fit it. Of
        # many functions of the score it needs the strengths that they share, from the start.
        settled = score_penalty is not None or scatter > SETTLED * before
        before = scatter
        if settled and not chosen:
            penalties.update(theta, np.linalg.inv(prior) - variance)
        # A strength that still runs off to infinity moves nothing any more.
        done = settled and (step * pulled).sum() < close
        if done and (chosen or stiffness == 1):
            break
        chosen = chosen or done or iteration + 1 >= iterations
    freedom = float(theta.size - (prior * variance).sum())
    return Surface(theta, freedom, dispersion, penalties)


@dataclass(frozen=True)
class Problem:
    """A surface to be fitted to counts.

    Attributes:
        counts, events: (cells, bins of the score), and their sums, (cells, 1).
        noise, link, along, start, floor: along the score; `start` is the link of the levels.
        over, parts: functions of the attributes, on the grid and along each axis.
        shape: of the grid.
    """

    counts: Floats
    events: Floats
    noise: Floats
    link: Link
    along: Floats
    start: Floats
    floor: Floats
    over: Floats
    parts: list[list[Floats]]
    shape: tuple[int, ...]

    @classmethod
    def pose(
        cls,
        counts: Floats,
        noise: Floats,
        levels: Floats,
        axes: Sequence[Axis],
        link: Link,
        along: Floats,
        terms: Sequence[Term],
    ) -> Problem:
        """Return the problem.

        Args:
            counts: sums of weights, (*bins of the axes, len(levels) + 1).
            noise: how much more than on average the counts scatter in each bin of the score.
            levels: inclusive CDF of the score at the thresholds between its bins.
            axes: of the attributes.
            link: the scale of the latent score.
            along: functions of the score at the levels, (levels, functions).
            terms: functions of the attributes.
        """
        counts = counts.reshape(-1, len(levels) + 1)
        centres = [axis.centres for axis in axes]
        return cls(
            counts,
            counts.sum(axis=1, keepdims=True),
            noise,
            link,
            along,
            link.inverse(levels),
            FLOOR * np.diff(levels, prepend=0, append=1),
            design(terms, axes, centres),
            [term.parts(axes, centres) for term in terms],
            tuple(axis.bins for axis in axes),
        )

    def at(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Return gradient and information of the likelihood at a surface, and the scatter."""
        pairs = np.triu_indices(self.along.shape[1])
        latent = (self.over @ theta.T) @ self.along.T + self.start
        cdf, slope = self.link.cdf(latent), self.link.density(latent)
        share = np.diff(cdf, axis=1, prepend=0, append=1)
        weight = 1 / (self.noise * np.maximum(share, self.floor))
        residual = self.counts - self.events * share
        # One event spreads over all thresholds, so its size shows in the cumulative residuals.
        scatter = (residual.cumsum(axis=1)[:, :-1] ** 2).sum()
        scatter /= (self.events * cdf * (1 - cdf)).sum()

        pull = slope * -np.diff(weight * residual, axis=1)
        gradient = (pull @ self.along).T @ self.over
        # The size of the net count sets the length of a step only; the fit is where the
        # gradient vanishes, and that knows the signs.
        weight *= np.abs(self.events)
        cells = information_in_cells(self.along, slope, weight, pairs)
        return gradient, _summed(cells.reshape(-1, *self.shape), self.parts, pairs), float(scatter)


def with_prior(information: Floats, dispersion: float, prior: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of what counts and prior know; the information is changed."""
    information /= dispersion
    for block, own in zip(_blocks(information, len(prior)), prior, strict=True):
        block += own
    return factor(information)


def information_in_cells(along: Floats, slope: Floats, weight: Floats, pairs: Pairs) -> Floats:
    """Return the information on pairs of functions of the score in each cell, (pairs, cells)."""
    # The counts between two thresholds know of these alone, so only neighbours are correlated.
    same = _pairs(along, along, pairs)
    beside = _pairs(along[:-1], along[1:], pairs) + _pairs(along[1:], along[:-1], pairs)
    cells = same.T @ (slope**2 * (weight[:, :-1] + weight[:, 1:])).T
    return np.asarray(cells - beside.T @ (slope[:, :-1] * slope[:, 1:] * weight[:, 1:-1]).T)


def factor(matrix: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of a matrix, which is changed.

    Where rounding has made it indefinite, a little is added: a shorter step, that ends at the same
    place.
    """
    more = 0.0
    while True:
        try:
            found: tuple[Floats, bool] = cho_factor(matrix)
        except np.linalg.LinAlgError:
            more = max(10 * more, np.finfo(float).eps * np.trace(matrix))
            np.fill_diagonal(matrix, matrix.diagonal() + more)
        else:
            return found


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
