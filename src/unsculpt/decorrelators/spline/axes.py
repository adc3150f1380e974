"""The protected attributes of a spline fit, each cut into bins, and the curves over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from unsculpt.decorrelators.common.attributes import Categorical, ProtectedAttributes
from unsculpt.inputs import Floats

# Bins, curves and nodes of the table, for one continuous attribute and for each of two.
ONE, TWO = (256, 12, 257), (24, 8, 129)


@dataclass(frozen=True)
class Curves:
    """Functions of one coordinate whose sums are the smooth curves of a fit.

    Cubic B-splines on even knots, turned so that the penalty on the differences of their
    coefficients (Eilers and Marx, 1996) is a number for each function: zero for polynomials.

    Attributes:
        low, high: the ends of the coordinate.
        turn: B-splines to functions, (k, k).
        penalty: what each function costs, (k,).
    """

    low: float
    high: float
    turn: Floats
    penalty: Floats

    @classmethod
    def smooth(cls, low: float, high: float, count: int, order: int) -> Curves:
        """Make `count` functions; differences of that order are penalised."""
        differences = np.diff(np.eye(count), order, axis=0)
        penalty, turn = np.linalg.eigh(differences.T @ differences)
        penalty[:order] = 0
        return cls(low, high, turn, penalty)

    def at(self, x: Floats) -> Floats:
        """Return the functions at each point, (n, k)."""
        count = len(self.penalty)
        step = (self.high - self.low) / (count - 3)
        knots = self.low + step * np.arange(-3, count + 1)
        # Rounding may put an end of the coordinate just outside the knots.
        inside = np.clip(x, knots[3], knots[count])
        return np.asarray(BSpline.design_matrix(inside, knots, 3).toarray() @ self.turn)


@dataclass(frozen=True)
class Axis:
    """One protected attribute in a spline fit.

    Attributes:
        bins: how many there are.
        curves: the functions in each bin, (bins, k).
        penalty: what each function costs, (k,).
        nodes: positions at which a table is made, (nodes,).
        at_nodes: the functions there, (nodes, k).
    """

    bins: int
    curves: Floats
    penalty: Floats
    nodes: Floats
    at_nodes: Floats

    @classmethod
    def smooth(cls, bins: int, count: int, nodes: int) -> Axis:
        """A continuous attribute, whose coordinate runs over [-1, 1]."""
        curves = Curves.smooth(-1, 1, count, order=3)
        centres = (np.arange(bins) + 0.5) / bins * 2 - 1
        at = np.linspace(-1, 1, nodes)
        return cls(bins, curves.at(centres), curves.penalty, at, curves.at(at))

    @classmethod
    def categories(cls, count: int) -> Axis:
        """Each category has its own value, and nothing ties them together."""
        own = np.eye(count)
        return cls(count, own, np.zeros(count), np.arange(count, dtype=float), own)

    def bin(self, positions: Floats) -> NDArray[np.int64]:
        """Return the bin of each position."""
        first, last = self.nodes[[0, -1]]
        share = (positions - first) / (last - first)
        if len(self.nodes) == self.bins:  # categories sit on their nodes
            return np.asarray(np.rint(share * (self.bins - 1)), dtype=np.int64)
        return np.asarray(np.clip(share * self.bins, 0, self.bins - 1), dtype=np.int64)


def axes_of(attributes: ProtectedAttributes) -> list[Axis]:
    """Return the axes of a fit over these attributes."""
    categories = [isinstance(a, Categorical) for a in attributes.attributes]
    resolution = TWO if categories.count(False) == 2 else ONE
    return [
        Axis.categories(attribute.width) if is_category else Axis.smooth(*resolution)
        for attribute, is_category in zip(attributes.attributes, categories, strict=True)
    ]
