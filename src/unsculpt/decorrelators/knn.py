"""Fixed-efficiency regression with nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import Categorical, Continuous, ProtectedAttributes
from unsculpt.decorrelators.common.efficiencies import at_each
from unsculpt.decorrelators.common.empirical import with_copies
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.shift import Shift, ShiftDecorrelator
from unsculpt.decorrelators.common.tables import ATTRIBUTE_NODES
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats, check_fraction, count_events, is_one_column
from unsculpt.saving import Arrays, Json

# Where the cut is measured if there are several attributes: at these many events.
ANCHORS = 2000
# Between anchors: the mean over these many, the nearer the more. More would smooth once again.
AROUND = 4
APART = 1e6  # between categories, where the range of a continuous attribute is two


@dataclass(frozen=True)
class LocalCut(Shift):
    """The score cut that keeps a fixed fraction of background, as a function of the attributes.

    Attributes:
        anchors: points in the attributes' coordinates, (a, f); increasing where f is one.
        cuts: the cut at each, (a,).
        line: whether there is one continuous attribute, so that lines can join the anchors.
        scale: of the coordinates, (f,): large where they tell categories apart.
    """

    anchors: Floats
    cuts: Floats
    line: bool
    scale: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return the cut at each value of the attributes."""
        if self.line:
            return np.asarray(np.interp(features[:, 0], self.anchors[:, 0], self.cuts))
        nearest = np.arange(1, min(AROUND, len(self.cuts)) + 1)
        distance, near = self._tree.query(features * self.scale, k=nearest)
        nearness = 1 / (distance + 1e-9)
        return np.asarray((nearness * self.cuts[near]).sum(axis=1) / nearness.sum(axis=1))

    def graph(self, graph: Graph, features: Value) -> Value:
        """Return the cut as steps of a graph."""
        if not self.line:
            raise ValueError(
                "a KNNDecorrelator of several attributes cannot be exported; with one continuous "
                "attribute it can"
            )
        return graph.interpolate([(self.anchors[:, 0], features)], self.cuts)

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.anchors * self.scale)


class KNNDecorrelator(ShiftDecorrelator[LocalCut]):
    """Subtract the score cut that keeps a fixed fraction of background at each protected value.

    Fixed-efficiency regression as ATLAS uses it for D2 (ATL-PHYS-PUB-2018-014): the cut is the
    quantile of the scores of the nearest background events in the protected attributes. A line is
    fitted through these events, which avoids a bias at the edge of a spectrum, where all of them
    are on one side. After the shift, a cut at zero keeps `efficiency` of the background everywhere.

    It flattens that one working point. The shift moves the whole distribution, but its width and
    shape still change with the attributes, so any other cut on the new score sculpts.

    Args:
        efficiency: the fraction of background above the cut.
        neighbours: number of events around a point that measure its cut, all of its category; None
            for a quarter of the events of the category to the power 4 / (4 + d), with d continuous
            attributes.
        outside: what becomes of protected values beyond the fitted range, as for
            `FlowDecorrelator`.
        categorical: protected columns to treat as categories, by name or position.

    >>> import numpy as np
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(5000, 0, seed=1)
    >>> knn = KNNDecorrelator(efficiency=0.1).fit(toy.score, toy.protected)
    >>> kept = knn.transform(toy.score, toy.protected) >= 0
    >>> bool(abs(np.mean(kept) - 0.1) < 0.01)
    True
    """

    method = "knn"
    efficiency_: float

    def __init__(
        self,
        efficiency: float = 0.1,
        *,
        neighbours: int | None = None,
        outside: Outside = "clip",
        categorical: Sequence[str | int] = (),
    ) -> None:
        self.efficiency = efficiency
        self.neighbours = neighbours
        self.outside = outside
        self.categorical = categorical

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Measure the cut on background events.

        Args:
            scores: (n,), or (n, k) for k scores of the same events, each by itself.
            protected: (n,) or (n, a) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included: the weighted pinball loss of the
                neighbours is minimised, which for positive ones is their weighted quantile.
        """
        check_fraction(self.efficiency, "efficiency")
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        attributes = ProtectedAttributes.learn(protected, weight, self.categorical)
        features, _ = attributes.features(protected, "raise")
        rows, weight = with_copies(np.arange(len(columns)), weight)
        columns, features = columns[rows], features[rows]
        continuous = sum(isinstance(a, Continuous) for a in attributes.attributes)
        category, _ = attributes.category(features)
        anchors, cuts = [], []
        for own in (np.flatnonzero(category == c) for c in np.unique(category)):
            tree = KDTree(features[own])
            neighbours = self._neighbours(len(columns), len(own), continuous)
            for anchor in _anchors(features[own], len(features), attributes.one_axis):
                # All that are as near as the last of them: events in another order, same answer.
                distance, _ = tree.query(anchor, k=[neighbours])
                near = own[
                    tree.query_ball_point(anchor, distance[0] * (1 + 1e-12), return_sorted=True)
                ]
                around = _balanced(weight[near], features[near] - anchor)
                if around.sum() <= 0:
                    raise ValueError(
                        f"the weights of the {len(near):,} nearest events sum to "
                        f"{around.sum():g} somewhere in the fitted range; raise neighbours"
                    )
                anchors.append(anchor)
                cuts.append([_quantile(c, around, 1 - self.efficiency) for c in columns[near].T])
        self._keep(
            attributes_=attributes,
            shifts_=_local_cuts(np.array(anchors), np.array(cuts).T, attributes),
            efficiency_=float(self.efficiency),
            one_column_=is_one_column(scores),
        )
        return self

    def threshold(self, efficiency: ArrayLike, protected: Any) -> Floats:
        """Return the cut on the old score that keeps the fitted fraction of the background.

        Args:
            efficiency: the efficiency of the fit; another one is an error.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return at_each(lambda share: self._threshold(share, protected), efficiency)

    def _threshold(self, efficiency: float, protected: Any) -> Floats:
        if not np.isclose(efficiency, self.efficiency_, rtol=0, atol=1e-9):
            raise ValueError(
                f"efficiency is {efficiency}, but the cut was fitted at {self.efficiency_:g} and "
                "is known there alone; fit again at that efficiency"
            )
        events = count_events(protected)
        zeros = np.zeros(events if self.one_column_ else (events, self.n_scores_))
        return self.inverse_transform(zeros, protected)

    def _neighbours(self, events: int, own: int, continuous: int) -> int:
        """Return how many of its own category measure the cut at a point."""
        if self.neighbours is None:
            # Noise falls as one over their number, the square of the bias grows as their distance
            # to the power four: the best number of both is this power of the events.
            return int(np.clip(own ** (4 / (4 + continuous)) / 4, min(20, own), own))
        if not (isinstance(self.neighbours, int | np.integer) and 0 < self.neighbours <= events):
            raise ValueError(
                f"neighbours is {self.neighbours!r}; expected a whole number from 1 to the "
                f"{events:,} events"
            )
        return min(int(self.neighbours), own)

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self.attributes_.state()
        arrays["anchors"] = self.shifts_[0].anchors
        arrays["cuts"] = np.stack([shift.cuts for shift in self.shifts_])
        return arrays, {
            "protected": protected,
            "one_column": self.one_column_,
            "efficiency": self.efficiency_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.shifts_ = _local_cuts(arrays["anchors"], arrays["cuts"], self.attributes_)
        self.one_column_, self.efficiency_ = metadata["one_column"], metadata["efficiency"]


def _local_cuts(anchors: Floats, cuts: Floats, attributes: ProtectedAttributes) -> list[LocalCut]:
    """Return the cut on each score, from its values at the anchors, (scores, anchors)."""
    scale = np.concatenate(
        [
            np.full(a.width, APART if isinstance(a, Categorical) else 1.0)
            for a in attributes.attributes
        ]
    )
    return [LocalCut(anchors, cut, attributes.one_axis, scale) for cut in cuts]


def _anchors(features: Floats, events: int, line: bool) -> Floats:
    """Return where to measure the cut, for one category of a sample of so many events."""
    if line:
        return ATTRIBUTE_NODES[:, None]
    # Evenly over the sample along its first attribute: no seed, and dense where the events are.
    count = max(AROUND, ANCHORS * len(features) // events)
    distinct = np.unique(features, axis=0)
    rows = np.linspace(0, len(distinct) - 1, min(len(distinct), count)).astype(int)
    return np.asarray(distinct[rows])


def _balanced(weight: Floats, away: Floats) -> Floats:
    """Return the weights of neighbours, tilted so that these lie on average where the point does.

    More events on one side, as at an edge of the spectrum, would measure the cut beside the point.
    This is a line fitted through the neighbours, in place of their mean.
    """
    design = np.column_stack([np.ones(len(away)), away])
    # Of the sizes of the weights, as signs that cancel would make the tilt arbitrary.
    moments = (design * np.abs(weight)[:, None]).T @ design
    total = np.eye(len(moments))[0] * moments[0, 0]
    tilt = np.linalg.lstsq(moments, total, rcond=1e-9)[0]
    return np.asarray(weight * (design @ tilt))


def _quantile(values: Floats, weight: Floats, level: float) -> float:
    """Return the value at which the weighted pinball loss is least.

    Between neighbouring values the loss changes by the weight below minus its share of the total:
    for positive weights it falls up to the quantile and rises after it.
    """
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weight[order])
    loss = np.cumsum((below[:-1] - level * below[-1]) * np.diff(values))
    return float(values[np.argmin(np.concatenate([[0.0], loss]))])
