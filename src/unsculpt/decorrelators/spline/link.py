"""The scale on which attributes shift and stretch a score: logit, or learned from the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from unsculpt.decorrelators.spline.axes import Axis, Smoothness, b_splines, design, terms_of
from unsculpt.inputs import Floats

# B-splines that bend the logit, and nodes at which the bent scale is tabulated.
BENDS, NODES = 12, 2001
LEAST_SLOPE = 0.1  # of the bent scale, which has to rise
LEAST_SCATTER = 1e-15  # of counts that sum to one
# To find the bends: bins and B-splines along an attribute, alone or beside another.
BINS, CURVES = {1: 128, 2: 16}, {1: 32, 2: 12}
# What keeps functions from drifting where no event holds them: of the score, its bending, of the
# attributes, of the bends.
RIDGES = 1e-3, 0.1, 1e-2, 1.0
# Scoring steps: stretches join the shifts, then the bends join both, as each needs a fair start.
STEPS, FIRST_STRETCH, FIRST_BEND = 30, 3, 6
CLOSE, LONGEST_STEP, LONGEST_STRETCH = 1.0, 1.0, 3.0


@dataclass(frozen=True)
class Link:
    """A scale on which a probability is any number: that of a latent score.

    Attributes:
        bends: coefficients of B-splines in the logit that are added to it, (k,).
        reach: where they end; beyond, the scale goes on as the logit does.
    """

    bends: Floats
    reach: float

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """Logits, the latent score at each, and how fast it rises there."""
        x = np.linspace(-self.reach, self.reach, NODES)
        y = x + _bend_curves(x, self.reach) @ self.bends
        return x, y, np.gradient(y, x)

    def inverse(self, level: Floats) -> Floats:
        """Return the latent score at a probability."""
        x, y, _ = self._table
        return _along(logit(level), x, y)

    def logit_at(self, latent: Floats) -> Floats:
        """Return the logit of the probability at a latent score."""
        x, y, _ = self._table
        return _along(latent, y, x)

    def cdf(self, latent: Floats) -> Floats:
        """Return the probability at a latent score."""
        return np.asarray(expit(self.logit_at(latent)))

    def density(self, latent: Floats) -> Floats:
        """Return the slope of `cdf`."""
        x, _, slope = self._table
        at = self.logit_at(latent)
        return np.asarray(expit(at) * expit(-at) / np.interp(at, x, slope))


LOGIT = Link(np.zeros(BENDS), 1.0)


def _along(values: Floats, x: Floats, y: Floats) -> Floats:
    """Interpolate, and go on with a slope of one beyond the ends."""
    beyond = np.minimum(values - x[0], 0) + np.maximum(values - x[-1], 0)
    return np.asarray(np.interp(values, x, y) + beyond)


def _bend_curves(x: Floats, reach: float) -> Floats:
    return b_splines(np.clip(x, -reach, reach), -reach, reach, BENDS)


def smooth_directions(count: int) -> tuple[Floats, Floats]:
    """Return combinations of B-splines, and what each costs: a shift and a stretch cost nothing."""
    differences = np.diff(np.eye(count), 2, axis=0)
    penalty, turn = np.linalg.eigh(differences.T @ differences)
    shift_and_stretch = np.vander(np.linspace(-1, 1, count), 2, increasing=True)
    turn[:, :2] = np.linalg.qr(shift_and_stretch)[0]
    penalty[:2] = 0
    return turn, penalty


def learn_link(
    counts: Floats,
    levels: Floats,
    axes: Sequence[Axis],
    curves: int,
    score_curves: Floats,
    weigh: Floats,
    floor: Floats,
) -> Link:
    """Return the scale on which the attributes shift and stretch the score and do nothing else.

    If score = shift + stretch * noise, or any increasing function of that, then the quantiles of
    the noise are such a scale, whatever the noise is; so a link, a function of the score, shifts
    and stretches are fitted together by Fisher scoring. Where the attributes do not act this way
    nothing is lost: the link is only where a further fit starts from.

    Args:
        counts: (*bins of the axes, len(levels) + 1).
        levels: inclusive CDF of the score at the thresholds.
        axes: of the attributes.
        curves: B-splines along an attribute, at most.
        score_curves: functions of the score at the levels, (levels, k).
        weigh: what a count in each bin of the score is worth, (levels + 1,).
        floor: the least share of events that a bin is taken to have, (levels + 1,).
    """
    counts, beside = counts / np.abs(counts).sum(), len(axes)
    for i, axis in enumerate(axes):
        if not axis.categories and axis.bins > BINS[beside]:
            edges = np.linspace(0, axis.bins, BINS[beside] + 1).astype(int)[:-1]
            counts = np.add.reduceat(counts, edges, axis=i)
    coarse = [
        axis if axis.categories else Axis.smooth(counts.shape[i], counts.shape[i])
        for i, axis in enumerate(axes)
    ]
    how = Smoothness(CURVES[beside], 1, 2).within(curves)
    terms = [term for term in terms_of(coarse, how) if sum(map(bool, term.curves)) == 1]
    over = design(terms, coarse, [axis.centres for axis in coarse])
    counts = counts.reshape(len(over), -1)
    events = counts.sum(axis=1, keepdims=True)

    start, reach = logit(levels), float(np.abs(logit(levels)).max())
    turn, costs = (part[..., 2:] for part in smooth_directions(BENDS))
    ends = np.cumsum([score_curves.shape[1], over.shape[1], over.shape[1], turn.shape[1]])
    values, ridge = np.zeros(ends[-1]), _ridge(ends, costs)
    probe = np.linspace(-reach, reach, 201)
    rise = np.gradient(_bend_curves(probe, reach) @ turn, probe, axis=0)

    for iteration in range(STEPS):
        own, shift, stretch, bends = np.split(values, ends[:-1])
        link = Link(turn @ bends, reach)
        scale = np.exp(np.clip(over @ stretch, -LONGEST_STRETCH, LONGEST_STRETCH))[:, None]
        latent = (start + score_curves @ own - (over @ shift)[:, None]) * scale
        at = link.logit_at(latent)
        cdf, slope = expit(at), link.density(latent)
        share = np.diff(cdf, axis=1, prepend=0, append=1)
        weight = weigh / np.maximum(share, floor)
        residual = counts - events * share
        scatter = (residual.cumsum(axis=1)[:, :-1] ** 2).sum() / (events * cdf * (1 - cdf)).sum()
        scatter = max(scatter, LEAST_SCATTER)
        # How each number moves the latent score in every cell; to bend the scale up is to be lower.
        moves = np.concatenate(
            [
                scale[:, :, None] * score_curves,
                np.broadcast_to(-(scale * over)[:, None], (*latent.shape, over.shape[1])),
                latent[:, :, None] * over[:, None],
                -(_bend_curves(at.ravel(), reach) @ turn).reshape(*latent.shape, -1),
            ],
            axis=2,
        )
        active = ends[1 + (iteration >= FIRST_STRETCH) + (iteration >= FIRST_BEND)]
        moves = moves[:, :, :active]
        jumps = np.diff(moves * slope[:, :, None], axis=1, prepend=0, append=0)
        jumps = jumps.reshape(-1, active)
        pulled = jumps.T @ (weight * residual).ravel() / scatter - (ridge @ values)[:active]
        jumps *= np.sqrt(weight * np.abs(events) / scatter).reshape(-1, 1)
        information = jumps.T @ jumps + ridge[:active, :active]
        step = np.zeros(len(values))
        step[:active] = np.linalg.solve(information, pulled)
        gain = step[:active] @ pulled
        longest = np.abs(moves @ step[:active]).max()
        step *= min(1, LONGEST_STEP / max(longest, 1e-12))
        # No further than the scale rises.
        falls = -rise @ step[ends[2] :]
        room = (1 + rise @ bends - LEAST_SLOPE) / np.maximum(falls, 1e-12)
        step *= np.clip(room.min(), 0, 1)
        values += step
        if iteration > FIRST_BEND and gain < CLOSE:
            break
    return Link(turn @ values[ends[2] :], reach)


def _ridge(ends: Floats, costs: Floats) -> Floats:
    """Return what the numbers of the fit cost."""
    own, bending, attributes, bends = RIDGES
    ridge = np.full(int(ends[-1]), attributes)
    ridge[: ends[0]], ridge[ends[2] :] = own, bends * costs
    matrix = np.diag(ridge)
    second = np.diff(np.eye(int(ends[0])), 2, axis=0)
    matrix[: ends[0], : ends[0]] += bending * second.T @ second
    return matrix
