"""Events counted in bins of scores and attributes: what a spline is fitted to, and what adds."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import ScoreDecorrelator
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.tables import TableCDF, TensorCDF
from unsculpt.decorrelators.spline.axes import Axis, axes_of
from unsculpt.decorrelators.spline.binning import levels_of
from unsculpt.devices import in_threads
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays, Json

# Thresholds of the score in the histogram of one axis and of two.
THRESHOLDS = {1: 105, 2: 61}


class HistogramDecorrelator(ScoreDecorrelator[TableCDF | TensorCDF]):
    """Counts events; what is derived from the counts is forgotten when they change."""

    _from_counts: ClassVar[tuple[str, ...]] = ()
    coordinates_: list[EmpiricalCDF]
    counts_: list[Floats]
    sizes_: list[Floats]
    events_: int
    squares_: float

    def empty(self) -> Self:
        """Return a decorrelator with the binning of this one and no events."""
        check_is_fitted(self)
        other: Self = clone(self)
        other.attributes_, other.coordinates_ = self.attributes_, self.coordinates_
        other.one_column_ = self.one_column_
        other._forget()
        return other

    def __add__(self, other: Self) -> Self:
        """Return the fit to the events of both, which must share one binning."""
        if not isinstance(other, HistogramDecorrelator):
            return NotImplemented
        both = self.empty()
        check_is_fitted(other)
        if not _same(self._binning(), other._binning()):
            raise ValueError(
                "the two were counted in different bins, which cannot be added; fit one on a first "
                "sample, and count every part with a copy of its .empty()"
            )
        both.counts_ = [a + b for a, b in zip(self.counts_, other.counts_, strict=True)]
        both.sizes_ = [a + b for a, b in zip(self.sizes_, other.sizes_, strict=True)]
        both.events_ = self.events_ + other.events_
        both.squares_ = self.squares_ + other.squares_
        return both

    @property
    def n_scores_(self) -> int:
        """How many scores the fit had."""
        return len(self.counts_)

    @property
    def background_(self) -> Background:  # type: ignore[override]
        """The centres of the bins of the attributes, with the weights in each."""
        centres = np.meshgrid(*(axis.centres for axis in self._axes), indexing="ij")
        columns = [
            np.eye(axis.bins)[c.ravel().astype(int)] if axis.categories else c.reshape(-1, 1)
            for axis, c in zip(self._axes, centres, strict=True)
        ]
        points, weight = np.hstack(columns), self.counts_[0].sum(axis=-1).ravel()
        if weight.min() < 0:  # what bins with few events of either sign hold is for larger ones
            filled = weight != 0
            return Background.measure(self.attributes_, points[filled], weight[filled])
        return Background.from_points(points, weight)

    @property
    def _axes(self) -> list[Axis]:
        return axes_of(self.attributes_)

    def _levels(self, coordinate: EmpiricalCDF) -> Floats:
        """Return the thresholds of a score, no more than its events can hold."""
        return levels_of(coordinate, min(THRESHOLDS[len(self._axes)], 2 * len(coordinate.levels)))

    def _forget(self) -> None:
        """Start a histogram without events."""
        bins = [axis.bins for axis in self._axes]
        self.counts_ = [
            np.zeros((*bins, len(self._levels(coordinate)) + 1)) for coordinate in self.coordinates_
        ]
        self.sizes_ = [np.zeros(counts.shape[-1]) for counts in self.counts_]
        self.events_, self.squares_ = 0, 0.0

    def _count(self, columns: Floats, protected: Any, weight: Floats) -> None:
        """Add events to the histograms."""
        features, marked = self.attributes_.features(protected, self.outside)
        positions, axes = self.attributes_.positions(features), self._axes
        cell = np.ravel_multi_index(
            [axis.bin(x) for axis, x in zip(axes, positions.T, strict=True)],
            [axis.bins for axis in axes],
        )
        weight = np.where(marked, 0.0, weight)
        added, sizes = [], []
        for coordinate, column, counts in zip(
            self.coordinates_, columns.T, self.counts_, strict=True
        ):
            width = counts.shape[-1]
            bins = np.searchsorted(self._levels(coordinate), in_threads(coordinate, column))
            sizes.append(np.bincount(bins, np.abs(weight), width))
            added.append(
                np.bincount(cell * width + bins, weight, counts.size).reshape(counts.shape)
            )
        self.counts_ = [a + b for a, b in zip(self.counts_, added, strict=True)]
        self.sizes_ = [a + b for a, b in zip(self.sizes_, sizes, strict=True)]
        self.events_ += int((~marked).sum())
        self.squares_ += float(weight @ weight)
        for stale in self._from_counts:
            self.__dict__.pop(stale, None)

    def _binning(self) -> tuple[Arrays, list[Json]]:
        """Return what two histograms must have in common to be added, as arrays and as JSON."""
        arrays, protected = self.attributes_.state()
        for i, coordinate in enumerate(self.coordinates_):
            arrays |= coordinate.state(f"score.{i}")
        return arrays, protected


def _same(a: tuple[Arrays, list[Json]], b: tuple[Arrays, list[Json]]) -> bool:
    return (
        a[1] == b[1]
        and a[0].keys() == b[0].keys()
        and all(np.array_equal(a[0][name], b[0][name]) for name in a[0])
    )
