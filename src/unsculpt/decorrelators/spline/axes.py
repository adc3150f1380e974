"""The protected attributes of a spline fit, each cut into bins, and the functions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from unsculpt.decorrelators.common.attributes import Categorical, Continuous, ProtectedAttributes
from unsculpt.inputs import Floats

# Bins and nodes of the table along a continuous attribute, when it is alone and when there are two.
BINS, NODES = {1: 256, 2: 48}, {1: 513, 2: 65}
# The share of an attribute's B-splines that are used beside another attribute, and in products.
BESIDE, IN_PRODUCTS = 3 / 4, 1 / 4
FEWEST_CURVES, CURVES_PER_REGION = 8, 4


@dataclass(frozen=True)
class Smoothness:
    """How functions of an attribute may bend.

    Attributes:
        curves: B-splines along an attribute that is alone.
        regions: parts of its range that each have a smoothness of their own.
        order: of the differences that are penalised.
    """

    curves: int
    regions: int
    order: int

    def within(self, curves: int) -> Smoothness:
        """Return it with no more curves than these, and fewer regions with them."""
        curves = max(min(curves, self.curves), FEWEST_CURVES)
        regions = max(min(curves // CURVES_PER_REGION, self.regions), 1)
        return Smoothness(curves, regions, self.order)


@dataclass(frozen=True)
class Axis:
    """One protected attribute in a spline fit.

    Attributes:
        bins: how many there are.
        centres: positions of the bins, (bins,).
        nodes: positions at which a table is made, (nodes,).
        categories: whether positions are numbers of categories.
    """

    bins: int
    centres: Floats
    nodes: Floats
    categories: bool

    @classmethod
    def smooth(cls, bins: int, nodes: int) -> Axis:
        """Return a continuous attribute, whose coordinate runs over [-1, 1]."""
        centres = (np.arange(bins) + 0.5) / bins * 2 - 1
        return cls(bins, centres, np.linspace(-1, 1, nodes), False)

    @classmethod
    def categorical(cls, count: int) -> Axis:
        """Return an attribute with a few values."""
        places = np.arange(count, dtype=float)
        return cls(count, places, places, True)

    def bin(self, positions: Floats) -> NDArray[np.int64]:
        """Return the bin of each position."""
        if self.categories:
            return np.asarray(np.rint(positions), dtype=np.int64)
        share = (positions + 1) / 2
        return np.asarray(np.clip(share * self.bins, 0, self.bins - 1), dtype=np.int64)

    def functions(self, positions: Floats, curves: int) -> Floats:
        """Return functions of the attribute but for the constant one, (n, k)."""
        if self.categories:
            own = np.asarray(positions[:, None] == self.nodes, dtype=float)
        else:
            own = b_splines(positions, -1, 1, curves)
        return np.asarray(own @ _contrasts(own.shape[1]))

    def penalties(self, curves: int, regions: int, order: int) -> list[Floats]:
        """Return what these functions cost, a matrix for each strength to choose, (k, k)."""
        if self.categories:
            return [np.eye(self.bins - 1)]
        turn = _contrasts(curves)
        differences = np.diff(np.eye(curves), order, axis=0) @ turn
        parts = _regions(len(differences), regions)
        bending = [differences.T @ (part[:, None] * differences) for part in parts.T]
        # Polynomials bend for free: they get a strength of their own, or an attribute that does
        # not matter would cost freedom.
        free = np.linalg.eigh(sum(bending))[1][:, : order - 1]
        return [*bending, free @ free.T]


@dataclass(frozen=True)
class Term:
    """A sum of products of functions, one of each of some axes.

    Attributes:
        curves: of each axis; 0 for one it does not depend on.
        penalties: what its coefficients cost, a matrix for each strength, (k, k).
    """

    curves: tuple[int, ...]
    penalties: list[Floats]

    @property
    def size(self) -> int:
        """How many functions it has."""
        return len(self.penalties[0]) if self.penalties else 1

    def parts(self, axes: Sequence[Axis], positions: Sequence[Floats]) -> list[Floats]:
        """Return the functions along each axis, (positions, functions)."""
        return [
            axis.functions(x, curves) if curves else np.ones((len(x), 1))
            for axis, x, curves in zip(axes, positions, self.curves, strict=True)
        ]


def terms_of(axes: Sequence[Axis], how: Smoothness) -> list[Term]:
    """Return a constant, a term for each axis, and one for the product of two.

    Each has strengths of its own: an attribute that does not matter, or two that do not know of
    each other, cost nothing.
    """
    alone = sum(not axis.categories for axis in axes) < 2
    how = how if alone else how.within(int(BESIDE * how.curves))
    terms = [Term((0,) * len(axes), [])]
    for i, axis in enumerate(axes):
        penalties = axis.penalties(how.curves, how.regions, how.order)
        terms.append(Term(tuple(how.curves * (j == i) for j in range(len(axes))), penalties))
    curves = max(int(how.curves * IN_PRODUCTS), FEWEST_CURVES)
    for pair in combinations(range(len(axes)), 2):
        terms.append(_product_term(axes, pair, curves, how.order))
    return terms


def _product_term(axes: Sequence[Axis], pair: tuple[int, int], curves: int, order: int) -> Term:
    """Return the products of functions of two axes."""
    one, other = (axes[i] for i in pair)
    first, second = (axis.penalties(curves, 1, order)[0] for axis in (one, other))
    penalties = []
    if not one.categories:
        penalties.append(_kron(first, np.eye(len(second))))
    if not other.categories:
        penalties.append(_kron(np.eye(len(first)), second))
    if one.categories or other.categories:
        penalties.append(np.eye(len(first) * len(second)))
    else:
        free = np.linalg.eigh(sum(penalties))[1][:, : (order - 1) ** 2]
        penalties.append(free @ free.T)
    return Term(tuple(curves * (j in pair) for j in range(len(axes))), penalties)


def design(terms: Sequence[Term], axes: Sequence[Axis], positions: Sequence[Floats]) -> Floats:
    """Return all functions on the grid of the axes' positions, (points, functions)."""
    return np.hstack([reduce(_kron, term.parts(axes, positions)) for term in terms])


def design_at(terms: Sequence[Term], axes: Sequence[Axis], positions: Sequence[Floats]) -> Floats:
    """Return all functions at points, one position along each axis, (points, functions)."""
    return np.hstack([reduce(_row_by_row, term.parts(axes, positions)) for term in terms])


def axes_of(attributes: ProtectedAttributes) -> list[Axis]:
    """Return the axes of a fit over these attributes."""
    continuous = sum(isinstance(a, Continuous) for a in attributes.attributes)
    return [
        Axis.categorical(attribute.width)
        if isinstance(attribute, Categorical)
        # Few events need few bins; the knots of the coordinate tell how many there were.
        else Axis.smooth(
            min(BINS[continuous], 4 * len(attribute.cdf.levels) // continuous), NODES[continuous]
        )
        for attribute in attributes.attributes
    ]


def b_splines(x: Floats, low: float, high: float, count: int, degree: int = 3) -> Floats:
    """Return B-splines on even knots at each point, (n, count)."""
    step = (high - low) / (count - degree)
    knots = low + step * np.arange(-degree, count + 1)
    # Rounding may put an end of the coordinate just outside the knots.
    inside = np.clip(x, knots[degree], knots[count])
    return np.asarray(BSpline.design_matrix(inside, knots, degree).toarray())


def _kron(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.kron(a, b))


def _row_by_row(a: Floats, b: Floats) -> Floats:
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def _contrasts(count: int) -> Floats:
    """Return an orthonormal basis of the coefficients that sum to zero, (count, count - 1)."""
    return np.asarray(np.linalg.qr(np.eye(count)[:, :-1] - 1 / count)[0])


def _regions(count: int, regions: int) -> Floats:
    """Return smooth weights that sum to one, for parts of a range, (count, regions)."""
    x = np.linspace(0, 1, count)
    return b_splines(x, 0, 1, regions, min(3, regions - 1))
