"""The error of a fitted conditional CDF that the finite number of events causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from unsculpt.decorrelators.common.variations import NEVER
from unsculpt.decorrelators.spline.axes import Axis, design, design_at, terms_of
from unsculpt.decorrelators.spline.distribution import (
    MEMBERS,
    Distribution,
    noise_in,
    score_curves_at,
    weights_of,
)
from unsculpt.decorrelators.spline.penalties import Penalties
from unsculpt.decorrelators.spline.surface import (
    Problem,
    factor,
    information_in_cells,
    with_prior,
)
from unsculpt.inputs import Floats


@dataclass(frozen=True)
class SurfaceError:
    """How a surface may be off: independent unit normals, each of which moves it.

    Attributes:
        fit: the surface.
        coefficients: how each normal moves its coefficients, (coefficients, normals).
        inclusive: how each further normal moves the latent score at the thresholds, at all values
            of the attributes alike, (thresholds, normals).
        thresholds: the levels of the fit.
        axes: of the attributes.
    """

    fit: Distribution
    coefficients: Floats
    inclusive: Floats
    thresholds: Floats
    axes: Sequence[Axis]

    @classmethod
    def estimate(
        cls,
        fit: Distribution,
        counts: Floats,
        noise: Floats,
        squares: float,
        thresholds: Floats,
        axes: Sequence[Axis],
    ) -> SurfaceError:
        """Return that of the posterior: what counts and penalties together leave open."""
        terms = terms_of(axes, MEMBERS[fit.member][1].within(fit.curves))
        along = score_curves_at(thresholds, len(fit.directions)) @ fit.directions
        problem = Problem.pose(counts, noise, thresholds, axes, fit.link, along, terms)
        penalties = Penalties.start(terms, along.shape[1], fit.costs)
        penalties.strengths, penalties.score_strength = fit.strengths, fit.cost_strength
        _, information, _ = problem.at(fit.coefficients)
        # A fit that follows every category scatters less about its counts than events do.
        dispersion = max(fit.dispersion, squares / counts.sum())
        prior = penalties.prior()
        root, _ = with_prior(information.copy(), dispersion, prior)
        inverse = solve_triangular(root, np.eye(len(root)))
        variance = [block @ block.T for block in np.split(inverse, len(prior))]
        penalties.loosen(np.linalg.inv(prior) - variance)
        root, _ = with_prior(information, dispersion, penalties.prior())
        coefficients = solve_triangular(root, np.eye(len(root)))
        inclusive = np.sqrt(dispersion) * _inclusive(problem, fit.coefficients)
        return cls(fit, coefficients, inclusive, thresholds, axes)

    @property
    def normals(self) -> int:
        """How many there are."""
        return int(self.coefficients.shape[1] + self.inclusive.shape[1])

    def variance(self, levels: Floats) -> Floats:
        """Return the variance of F at the nodes of the axes, (points, levels)."""
        over, functions, steps, slope = self._grid(levels, _nodes(self.axes))
        variance = np.tile((steps**2).sum(axis=1), (len(over), 1))
        covariance, size = self.coefficients @ self.coefficients.T, over.shape[1]
        for j, k in zip(*np.triu_indices(functions.shape[1]), strict=True):
            block = covariance[j * size : (j + 1) * size, k * size : (k + 1) * size]
            here = ((over @ block) * over).sum(axis=1)
            variance += np.outer(here, (1 + (j < k)) * functions[:, j] * functions[:, k])
        return np.asarray(slope**2 * np.maximum(variance, 0))

    def shifts(self, normals: Floats, levels: Floats) -> list[Floats]:
        """Return by how much each of (k, normals) moves F at the nodes, k of (points, levels)."""
        over, functions, steps, slope = self._grid(levels, _nodes(self.axes))
        first, second = np.split(normals, [self.coefficients.shape[1]], axis=1)
        size = functions.shape[1], over.shape[1]
        moved = (first @ self.coefficients.T).reshape(len(normals), *size)
        return [
            slope * ((over @ surface.T) @ functions.T + steps @ everywhere)
            for surface, everywhere in zip(moved, second, strict=True)
        ]

    def moves(self, levels: Floats, positions: Sequence[Floats]) -> Floats:
        """Return how each normal moves F on a grid, (points times levels, normals)."""
        over, functions, steps, slope = self._grid(levels, positions)
        cells = functions[None, :, :, None] * over[:, None, None, :]
        cells = cells.reshape(slope.size, -1) @ self.coefficients
        everywhere = np.tile(steps, (len(over), 1))
        return np.asarray(slope.reshape(-1, 1) * np.hstack([cells, everywhere]))

    def at(self, levels: Floats, positions: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return F at points of one level each, and how each normal moves it, (points, normals)."""
        fit = self.fit
        terms = terms_of(self.axes, MEMBERS[fit.member][1].within(fit.curves))
        over = design_at(terms, self.axes, positions)
        functions = score_curves_at(levels, len(fit.directions), self.thresholds) @ fit.directions
        latent = ((over @ fit.coefficients.T) * functions).sum(axis=1) + fit.link.inverse(levels)
        products = (functions[:, :, None] * over[:, None, :]).reshape(len(over), -1)
        steps = [np.interp(levels, self.thresholds, step) for step in self.inclusive.T]
        moved = np.hstack([products @ self.coefficients, np.reshape(steps, (-1, len(levels))).T])
        return fit.link.cdf(latent), fit.link.density(latent)[:, None] * moved

    def _grid(
        self, levels: Floats, positions: Sequence[Floats]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return functions of attributes and score, inclusive steps, and how F follows a step."""
        fit = self.fit
        over = design(
            terms_of(self.axes, MEMBERS[fit.member][1].within(fit.curves)), self.axes, positions
        )
        functions = score_curves_at(levels, len(fit.directions)) @ fit.directions
        steps = [np.interp(levels, self.thresholds, step) for step in self.inclusive.T]
        latent = (over @ fit.coefficients.T) @ functions.T + fit.link.inverse(levels)
        return over, functions, np.reshape(steps, (-1, len(levels))).T, fit.link.density(latent)


@dataclass(frozen=True)
class MapError:
    """How the mean of the fits may be off.

    The fits saw the same events, so a mean of them is no more certain than each. How far they
    scatter is added, as a normal for each fit: the variance of the fits as a sample of what could
    have been fitted, each counting alike, as which is the likeliest of all events tells little of
    one place. The posterior holds the smoothing too, on average along the attributes (Nychka, JASA
    83, 1988), with strengths as weak as they may be.

    Attributes:
        errors: of each fit.
        weights: of the fits in the mean.
    """

    errors: list[SurfaceError]
    weights: Floats

    @classmethod
    def estimate(
        cls,
        fits: Sequence[Distribution],
        counts: Floats,
        sizes: Floats,
        squares: float,
        thresholds: Floats,
        axes: Sequence[Axis],
    ) -> MapError:
        """Return that of fits to these counts.

        Args:
            fits: to the counts.
            counts: as in `fit_distributions`.
            sizes: as in `fit_distributions`.
            squares: the sum of the squared weights.
            thresholds: the levels of the fit.
            axes: of the attributes.
        """
        noise = noise_in(counts, sizes)
        errors = [SurfaceError.estimate(f, counts, noise, squares, thresholds, axes) for f in fits]
        return cls(errors, weights_of(fits))

    def table(self, levels: Floats) -> Floats:
        """Return the standard deviation of `mean_table`."""
        axes = self.errors[0].axes
        parts = zip(self.errors, self._apart(levels, _nodes(axes)), self.weights, strict=True)
        variance = sum(w * error.variance(levels) + apart**2 for error, apart, w in parts)
        return np.asarray(np.sqrt(variance)).reshape(*(len(axis.nodes) for axis in axes), -1)

    @property
    def size(self) -> int:
        """How many normals there are."""
        return sum(error.normals for error in self.errors) + len(self.errors)

    def logit_shifts(self, normals: Floats, levels: Floats) -> Floats:
        """Return by how much each of (k, normals) moves the logit of `mean_table`.

        On that scale no shift, however large, takes a probability out of [0, 1].
        """
        axes = self.errors[0].axes
        apart = self._apart(levels, _nodes(axes))
        total = np.zeros((len(normals), *apart[0].shape))
        ends = np.cumsum([error.normals for error in self.errors])
        *own, between = np.split(normals, ends, axis=1)
        for i, (error, weight) in enumerate(zip(self.errors, self.weights, strict=True)):
            for k, shift in enumerate(error.shifts(own[i], levels)):
                total[k] += np.sqrt(weight) * shift + between[k, i] * apart[i]
        cdf = np.clip(self.mean(levels, _nodes(axes)), NEVER, 1 - NEVER)
        total /= cdf * (1 - cdf)
        return total.reshape(len(normals), *(len(axis.nodes) for axis in axes), len(levels))

    def moves(self, levels: Floats, positions: Sequence[Floats]) -> Floats:
        """Return how each normal moves F on a grid, (points times levels, normals)."""
        roots = np.sqrt(self.weights)
        own = [w * e.moves(levels, positions) for w, e in zip(roots, self.errors, strict=True)]
        between = [x.reshape(-1, 1) for x in self._apart(levels, positions)]
        return np.hstack([*own, *between])

    def moves_at(self, levels: Floats, positions: Sequence[Floats]) -> Floats:
        """Return how each normal moves F at points of one level each, (points, normals)."""
        ends = self.errors[0].thresholds[[0, -1]]
        found = [error.at(np.clip(levels, *ends), positions) for error in self.errors]
        own = [w * moves for w, (_, moves) in zip(np.sqrt(self.weights), found, strict=True)]
        between = [x[:, None] for x in self._scatter([cdf for cdf, _ in found])]
        return np.hstack([*own, *between])

    def mean(self, levels: Floats, positions: Sequence[Floats]) -> Floats:
        """Return the mean of the fits on a grid, (points, levels)."""
        fits = (error.fit.cdf(levels, error.axes, positions) for error in self.errors)
        return np.asarray(sum(w * cdf for w, cdf in zip(self.weights, fits, strict=True)))

    def _apart(self, levels: Floats, positions: Sequence[Floats]) -> list[Floats]:
        """Return how each fit moves the mean of them."""
        return self._scatter([e.fit.cdf(levels, e.axes, positions) for e in self.errors])

    def _scatter(self, cdfs: Sequence[Floats]) -> list[Floats]:
        """Return what the fits say less their mean, whose squares sum to the variance of one."""
        mean = sum(w * cdf for w, cdf in zip(self.weights, cdfs, strict=True))
        return [(cdf - mean) / np.sqrt(max(len(cdfs) - 1, 1)) for cdf in cdfs]


def _nodes(axes: Sequence[Axis]) -> list[Floats]:
    return [axis.nodes for axis in axes]


def _inclusive(problem: Problem, theta: Floats) -> Floats:
    """Return how unit normals move the inclusive distribution, (thresholds, normals).

    A flat surface is the inclusive distribution as counted, with the error of the counts. A
    surface may repair that along its few functions of the score, and has their error in its
    coefficients; here is what it cannot repair: of all that the counts leave open at the
    thresholds, the part that is independent of these functions.
    """
    pairs = np.triu_indices(len(problem.start))
    latent = (problem.over @ theta.T) @ problem.along.T + problem.start
    share = np.diff(problem.link.cdf(latent), axis=1, prepend=0, append=1)
    weight = np.abs(problem.events) / (problem.noise * np.maximum(share, problem.floor))
    slope, single = problem.link.density(latent), np.eye(len(problem.start))
    known = np.empty_like(single)
    known[pairs] = known[pairs[::-1]] = information_in_cells(single, slope, weight, pairs).sum(-1)
    root = np.triu(factor(known)[0])
    basis = np.linalg.qr(root @ problem.along, mode="complete")[0]
    return np.asarray(solve_triangular(root, basis[:, problem.along.shape[1] :]))
