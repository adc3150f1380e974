"""Distribution regression: P(score <= t | attributes) for all t at once, from counts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc, logit, ndtri

from unsculpt.decorrelators.common.misfit import JUDGED_AT
from unsculpt.decorrelators.common.variations import NEVER
from unsculpt.decorrelators.spline.axes import (
    Axis,
    Smoothness,
    b_splines,
    design,
    terms_of,
)
from unsculpt.decorrelators.spline.link import LOGIT, Link, learn_link, smooth_directions
from unsculpt.decorrelators.spline.surface import (
    FLOOR,
    Problem,
    fit_surface,
    information_in_cells,
)
from unsculpt.devices import cores
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays, Json

# Functions of the score to begin with, and how many combinations of them the fit then keeps: with
# a mass alone, and with other attributes, which have many functions themselves.
ALONE, OTHERS = (32, 8), (24, 6)
PARTS = 10  # of the score, in which weights of both signs may cancel differently
FIRST_ITERATIONS, FIRST_CLOSE, FIRST = 30, 1.0, Smoothness(curves=24, regions=1, order=2)
# The marginal likelihood takes functions to be as rough as random walks. Responses are smoother, so
# what it chooses leaves a mass alone too much freedom; products of two attributes have little.
STIFFER = 2.0
LEARN_FROM = 24  # curves that the events can hold: fewer do not tell a link
ARRAYS = ("directions", "coefficients", "strengths", "costs")  # of a fitted surface

# Three fits that differ in link, in functions of the score and in what they call smooth. Their mean
# is closer to the truth than each.
MEMBERS = (
    ("logit", Smoothness(curves=40, regions=16, order=2)),
    ("learned", Smoothness(curves=48, regions=12, order=2)),
    ("shift and stretch", Smoothness(curves=40, regions=16, order=2)),
)
# By how much more likely a fit must be to count e times as much. One would be Akaike's weights, but
# the errors of the three are not the same, so a mean gains even where one is likelier.
PATIENCE = 10
LOST = 100  # so much less likely than another, a fit counts for nothing in the mean
# A fit is held against its own counts in groups of bins that expect enough events above the
# hardest cut.
ENOUGH, MOST_GROUPS = 25, 50


@dataclass(frozen=True)
class Distribution:
    """link F(level | attributes) = link(level) + a smooth surface over both.

    `level` is the inclusive CDF of the score, so a flat surface is the inclusive distribution. The
    surface is a sum of a few functions of the score times smooth functions of the attributes.

    Attributes:
        member: its place among the MEMBERS.
        curves: B-splines along an attribute that it has at most.
        link: the scale of the latent score.
        directions: the functions of the score, by their B-splines, (score curves, directions).
        coefficients: of the functions of the attributes, (directions, functions).
        freedom: how many parameters the penalties leave free, in effect.
        dispersion: the weight of an event, as the scatter of the counts shows it.
        likelihood: the logarithm of it, less what its freedom gains by chance.
        strengths, costs, cost_strength: of the penalties, as `Penalties` has them.
    """

    member: int
    curves: int
    link: Link
    directions: Floats
    coefficients: Floats
    freedom: float
    dispersion: float
    likelihood: float
    strengths: Floats
    costs: Floats
    cost_strength: float

    def state(self, name: str) -> tuple[Arrays, Json]:
        """Return it as arrays, whose names begin so, and as JSON."""
        described = vars(self).copy()
        link = described.pop("link")
        arrays = {array: described.pop(array) for array in ARRAYS} | {"bends": link.bends}
        start = f"{name}.{self.member}"
        named = {f"{start}.{key}": array for key, array in arrays.items()}
        return named, described | {"reach": link.reach}

    @classmethod
    def restore(cls, arrays: Arrays, name: str, described: Json) -> Distribution:
        """Return what `state` described."""
        start, fit = f"{name}.{described['member']}", described.copy()
        fit |= {array: arrays[f"{start}.{array}"] for array in ARRAYS}
        return cls(link=Link(arrays[f"{start}.bends"], fit.pop("reach")), **fit)

    def table(self, levels: Floats, axes: Sequence[Axis]) -> Floats:
        """Return F at the nodes of the axes and these levels, increasing along the levels.

        The levels end where those of the fit did.
        """
        # Sorting the values of curves that cross brings each closer to the truth
        # (Chernozhukov, Fernández-Val and Galichon, 2010).
        rising = np.sort(self.cdf(levels, axes, [axis.nodes for axis in axes]), axis=1)
        return rising.reshape(*(len(a.nodes) for a in axes), len(levels))

    def shares(self, levels: Floats, axes: Sequence[Axis]) -> Floats:
        """Return the share of events in each bin of the score, (cells, levels + 1)."""
        cdf = np.sort(self.cdf(levels, axes, [axis.centres for axis in axes]), axis=1)
        return np.maximum(np.diff(cdf, axis=1, prepend=0, append=1), NEVER)

    def cdf(self, levels: Floats, axes: Sequence[Axis], positions: Sequence[Floats]) -> Floats:
        """Return F on a grid of the attributes, (points, levels)."""
        how = MEMBERS[self.member][1].within(self.curves)
        along = score_curves_at(levels, len(self.directions)) @ self.directions
        over = design(terms_of(axes, how), axes, positions)
        return self.link.cdf((over @ self.coefficients.T) @ along.T + self.link.inverse(levels))


def mean_table(fits: Sequence[Distribution], levels: Floats, axes: Sequence[Axis]) -> Floats:
    """Return the mean of the tables, where the likelier ones count more."""
    tables = (fit.table(levels, axes) for fit in fits)
    return np.asarray(sum(w * t for w, t in zip(weights_of(fits), tables, strict=True)))


def weights_of(fits: Sequence[Distribution]) -> Floats:
    """Return how much each fit counts in the mean."""
    likelihood = np.array([fit.likelihood for fit in fits])
    weight = np.exp((likelihood - likelihood.max()) / PATIENCE)
    return np.asarray(weight / weight.sum())


class Misfit(NamedTuple):
    """How far the counts of a fit are from what it says, in coarse cells.

    Attributes:
        chi2, cells: the sum of the squared pulls, and how many are free.
        p_value: how often a fit that follows its events is this far from them, at least: what it
            learned from them makes it nearer.
        worst: first and last bin of the attributes, counted through, where it is farthest.
    """

    chi2: float
    cells: int
    p_value: float
    worst: tuple[int, int]


def misfit(
    fits: Sequence[Distribution],
    counts: Floats,
    sizes: Floats,
    squares: float,
    levels: Floats,
    axes: Sequence[Axis],
) -> Misfit | None:
    """Compare the counts with the mean of the fits; None if there are too few for it.

    Nor with weights of both signs: how much a count scatters where they cancel is not known.
    `squares` is the sum of the squared weights. What the counts scatter about the fits would not
    do for the error of a count: it holds what the fits miss.
    """
    counts = counts.reshape(-1, len(levels) + 1)
    tables = (fit.shares(levels, axes) for fit in fits)
    events = counts.sum(axis=1, keepdims=True)
    expected = events * sum(w * t for w, t in zip(weights_of(fits), tables, strict=True))
    dispersion = squares / counts.sum()
    if counts.sum() < (1 - NEVER) * sizes.sum() or not dispersion > 0:  # as tiny squares vanish
        return None
    groups = int(min(counts.sum() / dispersion * (1 - JUDGED_AT[-1]) / ENOUGH, MOST_GROUPS))
    if groups < 2:
        return None
    # Neighbouring bins of the attributes that hold as many events each; bins of the score at cuts.
    done = np.cumsum(np.abs(events)) / np.abs(events).sum()
    first = np.unique(np.searchsorted(done, np.arange(groups) / groups, side="right"))
    parts = np.unique([0, *np.searchsorted(levels, JUDGED_AT) + 1])
    parts = parts[parts < counts.shape[1]]
    seen, meant = (
        np.add.reduceat(np.add.reduceat(x, first, axis=0), parts, axis=1) / dispersion
        for x in (counts, expected)
    )
    judged = meant > ENOUGH / 2
    pulls = np.divide((seen - meant) ** 2, meant, out=np.zeros_like(meant), where=judged)
    # The shares of a group sum to one.
    cells = max(int((judged.sum(axis=1) - 1).clip(0).sum()), 1)
    worst = int(pulls.sum(axis=1).argmax())
    last = first[worst + 1] - 1 if worst + 1 < len(first) else len(counts) - 1
    chi2 = float(pulls.sum())
    p_value = float(gammaincc(cells / 2, chi2 / 2))
    return Misfit(chi2, cells, p_value, (int(first[worst]), int(last)))


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

    def fit(member: int, basis: str | None = None) -> Distribution:
        name, how = MEMBERS[member]
        link, turn, penalty = bases[basis or name]
        terms = terms_of(axes, how.within(curves))
        along = score_curves_at(levels, len(turn)) @ turn
        problem = Problem.pose(counts, noise, levels, axes, link, along, terms)
        stiffness = STIFFER if len(axes) == 1 else 1.0
        found = fit_surface(problem, terms, penalty, stiffness=stiffness)
        return Distribution(
            member,
            curves,
            link,
            turn,
            found.theta,
            found.freedom,
            found.dispersion,
            0.0,
            found.penalties.strengths,
            found.penalties.score,
            found.penalties.score_strength,
        )

    noise = noise_in(counts, sizes)
    bases = _bases(counts, noise, levels, axes, curves)
    with ThreadPoolExecutor(cores()) as pool:
        # With all functions of the score the fits to categories are the same.
        same = all(penalty is not None for _, _, penalty in bases.values())
        fits = list(pool.map(fit, range(1 if same else len(MEMBERS))))
    fits = _compared(fits, counts / noise, levels, axes)
    if counts.sum() < (1 - NEVER) * sizes.sum():
        # Where weights cancel, a fit on a learned scale may run away. Its distance from the others
        # would pass for an error of the map.
        best = max(found.likelihood for found in fits)
        lost = [found.likelihood < best - LOST and found.link is not LOGIT for found in fits]
        fits = [fit(f.member, "logit") if out else f for f, out in zip(fits, lost, strict=True)]
        fits = _compared(fits, counts / noise, levels, axes) if any(lost) else fits
    return fits


def _compared(
    fits: Sequence[Distribution], counts: Floats, levels: Floats, axes: Sequence[Axis]
) -> list[Distribution]:
    """Return the fits with their likelihoods."""
    # One size of an event for all: else the fit that leaves more scatter would seem likelier.
    counts = counts / min(found.dispersion for found in fits)
    return [replace(found, likelihood=_likelihood(found, counts, levels, axes)) for found in fits]


def noise_in(counts: Floats, sizes: Floats) -> Floats:
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


Basis = tuple[Link, Floats, Floats | None]


def _bases(
    counts: Floats, noise: Floats, levels: Floats, axes: Sequence[Axis], curves: int
) -> dict[str, Basis]:
    """Return links, each with functions of the score along which the attributes change it most.

    All functions, and what each costs, if the attributes have no more functions than are kept.
    """
    score_curves, kept = score_functions(axes)
    turn, penalty = smooth_directions(score_curves)
    terms = terms_of(axes, FIRST.within(curves))
    terms = [term for term in terms if sum(map(bool, term.curves)) < 2]
    if sum(term.size for term in terms) <= kept:
        return dict.fromkeys((name for name, _ in MEMBERS), (LOGIT, turn, penalty))
    own = score_curves_at(levels, score_curves)
    along = own @ turn
    problem = Problem.pose(counts, noise, levels, axes, LOGIT, along, terms)
    fit = fit_surface(problem, terms, penalty, FIRST_ITERATIONS, FIRST_CLOSE)
    over = design(terms, axes, [axis.centres for axis in axes])
    cdf = np.sort(expit((over @ fit.theta.T) @ along.T + logit(levels)), axis=1)
    cdf = np.clip(cdf, NEVER, 1 - NEVER)
    events = np.abs(counts.reshape(-1, counts.shape[-1]).sum(axis=1, keepdims=True))
    floor = FLOOR * np.diff(levels, prepend=0, append=1)
    link = LOGIT
    if curves >= LEARN_FROM:
        link = learn_link(counts, levels, axes, curves, own, 1 / noise, floor)
    weight = events / (noise * np.maximum(np.diff(cdf, axis=1, prepend=0, append=1), floor))
    look = partial(_directions, cdf, events, weight, levels, own, kept)
    return {
        "logit": look(LOGIT, simple=False),
        "learned": look(link, simple=False),
        "shift and stretch": look(link, simple=True),
    }


def _directions(
    cdf: Floats,
    events: Floats,
    weight: Floats,
    levels: Floats,
    own: Floats,
    kept: int,
    link: Link,
    *,
    simple: bool,
) -> Basis:
    """Return the few functions of the score that tell most of a surface.

    Args:
        cdf: the surface as probabilities, (cells, levels).
        events: in each cell, (cells, 1).
        weight: what a count in each bin knows, (cells, levels + 1).
        levels: the inclusive CDF of the score.
        own: functions of the score to combine, (levels, k).
        kept: how many combinations to return.
        link: the scale on which to look at the surface.
        simple: a shift and a stretch come first, and only the others are looked for.
    """
    latent = link.inverse(cdf)
    slope, pairs = link.density(latent), np.triu_indices(own.shape[1])
    # What counts is how much a direction changes the likelihood: its information.
    metric = np.empty((own.shape[1],) * 2)
    metric[pairs] = metric[pairs[::-1]] = information_in_cells(own, slope, weight, pairs).sum(
        axis=-1
    )
    metric /= np.trace(metric)
    root = np.linalg.cholesky(metric + 1e-9 * np.eye(len(metric)))
    surface = np.linalg.lstsq(own, (latent - link.inverse(levels)).T, rcond=None)[0]
    surface = root.T @ surface * np.sqrt(events.T)
    first = np.empty((len(root), 0))
    if simple:
        known = events * slope**2 / (cdf * (1 - cdf))
        middle = (known * latent).sum(axis=0) / known.sum(axis=0)
        moved = np.column_stack([np.ones(len(levels)), middle])
        first = np.linalg.qr(root.T @ np.linalg.lstsq(own, moved, rcond=None)[0])[0]
        surface = surface - first @ (first.T @ surface)
    others = np.linalg.svd(surface, full_matrices=False)[0][:, : kept - first.shape[1]]
    return link, np.linalg.solve(root.T, np.hstack([first, others])), None


def _likelihood(found: Distribution, counts: Floats, levels: Floats, axes: Sequence[Axis]) -> float:
    """Return the log likelihood of the counts, less what the freedom of the fit gains by chance."""
    share = found.shares(levels, axes)
    return float((counts.reshape(share.shape) * np.log(share)).sum() - found.freedom)


def score_functions(axes: Sequence[Axis]) -> tuple[int, int]:
    """Return how many functions of the score a fit begins with, and how many it keeps."""
    return ALONE if len(axes) == 1 and not axes[0].categories else OTHERS


def score_curves_at(levels: Floats, count: int, over: Floats | None = None) -> Floats:
    """Return B-splines of the probit of the inclusive CDF, (levels, count).

    They reach over these levels, or from the first to the last of others.

    It has less room for the tails than the logit, and more for the bulk: where the score depends
    strongly on an attribute, the tail of a few events lies in the bulk of all.
    """
    first, last = ndtri((levels if over is None else over)[[0, -1]])
    return b_splines(ndtri(levels), first, last, count)
