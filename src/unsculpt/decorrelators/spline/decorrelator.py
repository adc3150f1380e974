"""The instant decorrelator: penalised splines on a histogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.misfit import FLOW, warn_if_far
from unsculpt.decorrelators.common.outside import Outside, check_outside
from unsculpt.decorrelators.common.tables import TableCDF, TensorCDF
from unsculpt.decorrelators.common.variations import shifted
from unsculpt.decorrelators.spline.binning import check_size, levels_of
from unsculpt.decorrelators.spline.distribution import (
    Distribution,
    Misfit,
    fit_distributions,
    mean_table,
    misfit,
)
from unsculpt.decorrelators.spline.errors import MapError
from unsculpt.decorrelators.spline.histogram import HistogramDecorrelator
from unsculpt.decorrelators.spline.variations import Direction, directions
from unsculpt.devices import cores
from unsculpt.inputs import (
    Floats,
    count_events,
    is_one_column,
    same_length,
    score_columns,
    weight_column,
    with_weight,
)
from unsculpt.saving import Arrays, Json

SCORE_NODES = 513  # of the table
# By how many knots the coordinate of a score has, which tells how many events set it.
CURVES_PER_ROOT = 1.5
# Two attributes have few bins each, which must be where the events are.
BY_RANGE_BESIDE = 0.25
# Events that a binning is learned from; more would move its edges by less than they matter.
BINNING_EVENTS = 2**18

T = TypeVar("T")


class SplineDecorrelator(HistogramDecorrelator):
    """Replace a score by its conditional CDF, fitted to a histogram in seconds.

    Fit it on background. The events are counted in fine bins of score and attributes. On the scale
    of the logit, or one learned from the counts, P(score <= t | attributes) is a smooth surface
    over t and the attributes, along the few directions in which the attributes change the score.
    How smooth it is, in each part of the spectrum, is chosen from the data (P-splines: Eilers and
    Marx, Stat. Sci. 11, 1996; distribution regression: Foresi and Peracchi, JASA 90, 1995;
    strengths: Wood and Fasiolo, Biometrics 73, 2017). Nothing is random.

    Histograms add. `partial_fit` takes events in chunks of any size, and `a + b` is the fit of the
    events of both, so a cluster fits a billion events in one reduction: hand `first.empty()`,
    which knows the binning and no events, to every worker and add what comes back.

    Takes one or two protected attributes, continuous or with a few categories;
    `FlowDecorrelator` takes more of either.

    Args:
        outside: what becomes of protected values beyond the fitted range: the nearest fitted
            value stands in ("clip", with a warning that counts them), an error ("raise"), or
            NaN ("nan", with a warning). It holds for `transform` and for the later chunks of
            `partial_fit`, where "nan" leaves the events out. A category not seen in the fit has
            no nearest one and raises under "clip" too.
        categorical: protected columns to treat as categories, by name or position.

    Attributes:
        counts_: for each score, the sums of weights, (bins of each attribute, bins of the score).
        sizes_: for each score, the sums of weights without their signs, (bins of the score,).
        events_: how many events have been counted.
        squares_: the sum of their squared weights.
        share_: in a model made by `variations`, the part of the variance that its direction holds.

    >>> import numpy as np
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(20_000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> flat = spline.transform(toy.score, toy.protected)
    >>> bool(np.abs(flat - toy.cdf(toy.score, toy.protected)).mean() < 0.01)
    True

    In parts that know one binning:

    >>> parts = [
    ...     spline.empty().partial_fit(toy.score[rows], toy.protected[rows])
    ...     for rows in (slice(0, 5_000), slice(5_000, None))
    ... ]
    >>> whole = parts[0] + parts[1]
    >>> bool(np.all(whole.transform(toy.score, toy.protected) == flat))
    True
    """

    method = "spline"
    _from_counts = ("distributions_", "cdfs_", "errors_", "shifts_", "share_")
    shifts_: list[Floats | None] | None = None
    share_: float | None = None

    def __init__(self, *, outside: Outside = "clip", categorical: Sequence[str | int] = ()) -> None:
        self.outside = outside
        self.categorical = categorical

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the binning and count background events, forgetting earlier ones.

        Args:
            scores: (n,), or (n, k) for k scores of the same events, each decorrelated by itself.
            protected: (n,) or (n, 2) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        alone = len(protected) - len(self.categorical) < 2
        attributes = ProtectedAttributes.learn(
            protected,
            weight,
            self.categorical,
            by_range=0.5 if alone else BY_RANGE_BESIDE,
            sample_size=BINNING_EVENTS,
        )
        check_size(attributes)
        fresh = clone(self)
        fresh.attributes_ = attributes
        fresh.coordinates_ = [
            EmpiricalCDF.measure(column, weight, sample_size=BINNING_EVENTS) for column in columns.T
        ]
        fresh.one_column_ = is_one_column(scores)
        fresh._forget()
        fresh._count(columns, protected, weight)
        self._keep(**vars(fresh) | {"cdfs_": fresh.cdfs_})
        for stale in ("errors_", "shifts_", "share_"):
            self.__dict__.pop(stale, None)
        return self

    def partial_fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add events. The first chunk sets the binning, so it should look like the others.

        It also sets how much the fit resolves: give it 20,000 events if there are as many.

        Args:
            scores: background scores, (n,), or (n, k) for k scores.
            protected: their attributes: (n,), (n, 2) or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        if not hasattr(self, "counts_"):
            return self.fit(scores, protected, sample_weight=sample_weight)
        check_outside(self.outside)
        columns = score_columns(scores, "scores")
        events, n_scores = columns.shape
        if n_scores != len(self.counts_):
            raise ValueError(f"scores has {n_scores} columns; earlier ones had {len(self.counts_)}")
        same_length(events, protected=count_events(protected))
        weight = weight_column(sample_weight, events)
        self._count(*with_weight(columns, protected, weight))
        return self

    @cached_property
    def distributions_(self) -> list[list[Distribution]]:
        """The fitted surfaces of each score, made when first asked for."""
        check_is_fitted(self)
        if not all(counts.sum() > 0 for counts in self.counts_):
            raise ValueError(
                f"the weights of the {self.events_:,} events counted so far sum to "
                f"{self.counts_[0].sum():g}; expected a positive total: add events by partial_fit"
            )

        def fit(counts: Floats, sizes: Floats, coordinate: EmpiricalCDF) -> list[Distribution]:
            # Events that cancel hold fewer: the root of how many are left in effect.
            left = counts.sum() / sizes.sum()
            curves = int(CURVES_PER_ROOT * left * len(coordinate.levels) ** 0.5)
            return fit_distributions(counts, sizes, self._levels(coordinate), self._axes, curves)

        fits = _in_one_thread_each(fit, self.counts_, self.sizes_, self.coordinates_)
        for i, found in enumerate(self._misfits(fits)):
            if found is not None:
                score, where = (
                    "the score" if len(fits) == 1 else f"score {i}",
                    self._where(found.worst),
                )
                warn_if_far(found.chi2, found.cells, found.p_value, score, where, FLOW)
        return fits

    @property
    def p_values_(self) -> Floats:
        """For each score, how often a fit that follows its events is this far from them, at least.

        It is measured on the events of the fit, which makes it larger than on others: a small
        one is bad, a large one no proof. NaN with too few events to tell, or negative weights.
        """
        misfits = self._misfits(self.distributions_)
        return np.array([np.nan if found is None else found.p_value for found in misfits])

    def _misfits(self, fits: list[list[Distribution]]) -> list[Misfit | None]:
        def compare(
            fits: list[Distribution], counts: Floats, sizes: Floats, at: EmpiricalCDF
        ) -> Misfit | None:
            return misfit(fits, counts, sizes, self.squares_, self._levels(at), self._axes)

        return _in_one_thread_each(compare, fits, self.counts_, self.sizes_, self.coordinates_)

    def _where(self, bins: tuple[int, int]) -> str:
        """Say where bins of the attributes lie, counted through all of them, by the first one."""
        first, *others = self._axes
        after = int(np.prod([axis.bins for axis in others]))
        half = 0 if first.categories else 1 / first.bins  # of a bin
        low, high = (float(first.centres[i // after]) for i in bins)
        return self.attributes_.attributes[0].words(low - half, high + half)

    @cached_property
    def cdfs_(self) -> list[TableCDF | TensorCDF]:  # type: ignore[override]
        """The conditional CDF of each score as a table."""

        def table(
            fits: list[Distribution], coordinate: EmpiricalCDF, shift: Floats | None
        ) -> TableCDF | TensorCDF:
            inner = levels_of(coordinate, SCORE_NODES)
            values = mean_table(fits, inner, self._axes)
            if shift is not None:
                values = shifted(values, shift)
            # Beyond the thresholds the CDF goes on to 0 and 1, as the coordinate does.
            return self._table(coordinate, inner, values, (0, 1))

        shifts = self.shifts_ or [None] * self.n_scores_
        return _in_one_thread_each(table, self.distributions_, self.coordinates_, shifts)

    @cached_property
    def errors_(self) -> list[TableCDF | TensorCDF]:
        """The standard deviation of each conditional CDF as a table, made when first asked for."""

        def table(error: MapError, coordinate: EmpiricalCDF) -> TableCDF | TensorCDF:
            inner = levels_of(coordinate, SCORE_NODES)
            return self._table(coordinate, inner, error.table(inner), (0, 0))

        return _in_one_thread_each(table, self._map_errors(), self.coordinates_)

    def _map_errors(self) -> list[MapError]:
        def error(
            fits: list[Distribution], counts: Floats, sizes: Floats, coordinate: EmpiricalCDF
        ) -> MapError:
            thresholds = self._levels(coordinate)
            return MapError.estimate(fits, counts, sizes, self.squares_, thresholds, self._axes)

        return _in_one_thread_each(
            error, self.distributions_, self.counts_, self.sizes_, self.coordinates_
        )

    def _table(
        self, coordinate: EmpiricalCDF, inner: Floats, values: Floats, ends: tuple[int, int]
    ) -> TableCDF | TensorCDF:
        """Return values at the nodes of the axes and inner levels as a table, with these ends."""
        around = [(0, 0)] * len(self._axes) + [(1, 1)]
        values = np.pad(values, around, constant_values=(ends,))
        score, nodes = np.concatenate([[0.0], inner, [1.0]]), [a.nodes for a in self._axes]
        if self.attributes_.one_axis:
            return TableCDF(coordinate, nodes[0], score, values)
        return TensorCDF(coordinate, self.attributes_, nodes, score, values)

    def uncertainty(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the standard deviation of `transform` that the finite sample of the fit causes.

        It comes from the counts and costs about as much as some steps of the fit. Where weights of
        both signs cancel it is a rough guide.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return self._each([error.cdf for error in self.errors_], scores, protected)

    def deviations(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return how one standard deviation of each independent direction moves `transform`.

        That is the whole error with its correlations between events: the squares of the k
        deviations of an event sum to that of `uncertainty`. Of one score, (n,) to (n, k). It is
        meant for some thousands of events; k is some hundreds.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        columns, features, _ = self._check(scores, protected)
        if self.n_scores_ > 1:
            raise ValueError(f"deviations are of one score; the fit had {self.n_scores_}")
        with threadpool_limits(1, "blas"):  # as in `_in_one_thread_each`
            (error,), (coordinate,) = self._map_errors(), self.coordinates_
            positions = self.attributes_.positions(features).T
            return error.moves_at(coordinate(columns[:, 0]), list(positions))

    def variations(self, n: int) -> list[tuple[Self, Self]]:
        """Return the map moved up and down by one standard deviation, along n directions.

        The directions are independent, and those that hold most of the variance come first; the
        squared shifts of all of them sum to that of `uncertainty`. `share_` of a variation says
        which part of the total its direction holds. With several scores a direction moves one.

        Args:
            n: how many pairs.

        >>> from unsculpt.datasets import toys
        >>> toy = toys.smooth(2_000, 0, seed=1)
        >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
        >>> (up, down), second = spline.variations(2)
        >>> up.share_ > second[0].share_
        True
        >>> low, high = sorted(model.transform([0.5], [0.5])[0] for model in (up, down))
        >>> bool(low < spline.transform([0.5], [0.5])[0] < high)
        True
        """
        check_is_fitted(self)
        errors = self._map_errors()
        levels = [levels_of(coordinate, SCORE_NODES) for coordinate in self.coordinates_]
        with threadpool_limits(1, "blas"):  # as in `_in_one_thread_each`
            found = directions(errors, self.counts_, levels, n)
        return [(self._moved(x, x.shift), self._moved(x, -x.shift)) for x in found]

    def _moved(self, along: Direction, shift: Floats) -> Self:
        """Return it with the table of a score shifted."""
        other = copy(self)
        other.__dict__.pop("cdfs_", None)
        other.shifts_ = [shift if i == along.score else None for i in range(self.n_scores_)]
        other.share_ = along.share
        return other

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self._binning()
        arrays |= {f"score.{i}.counts": counts for i, counts in enumerate(self.counts_)}
        arrays |= {f"score.{i}.sizes": sizes for i, sizes in enumerate(self.sizes_)}
        # The fit as well, where it was made: a later version or another machine keeps it.
        fits: list[list[Json]] = []
        for i, members in enumerate(self.__dict__.get("distributions_", [])):
            fits.append([])
            for member in members:
                own, described = member.state(f"score.{i}")
                arrays |= own
                fits[-1].append(described)
        for i, shift in enumerate(self.shifts_ or []):
            arrays |= {} if shift is None else {f"score.{i}.shift": shift}
        return arrays, {
            "protected": protected,
            "scores": len(self.counts_),
            "one_column": self.one_column_,
            "events": self.events_,
            "squares": self.squares_,
            "share": self.share_,
            "fits": fits,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        scores = range(metadata["scores"])
        if "squares" not in metadata:
            raise ValueError("splines of version 0.1.0 were fitted otherwise: fit this one again")
        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.coordinates_ = [EmpiricalCDF.restore(arrays, f"score.{i}") for i in scores]
        self.counts_ = [arrays[f"score.{i}.counts"] for i in scores]
        self.sizes_ = [arrays[f"score.{i}.sizes"] for i in scores]
        self.one_column_ = metadata["one_column"]
        self.events_, self.squares_ = metadata["events"], metadata["squares"]
        if metadata.get("share") is not None:
            self.share_ = metadata["share"]
            self.shifts_ = [arrays.get(f"score.{i}.shift") for i in scores]
        # Those of earlier versions have no errors: the fit is made again when it is asked for.
        if metadata["fits"] and "cost_strength" in metadata["fits"][0][0]:
            self.distributions_ = [
                [Distribution.restore(arrays, f"score.{i}", fit) for fit in members]
                for i, members in enumerate(metadata["fits"])
            ]


def _in_one_thread_each(function: Callable[..., T], *of_scores: Sequence[Any]) -> list[T]:
    """Call a function for each score, on all cores.

    One thread for the algebra of each: the matrices are small, and any number of cores then gives
    the same bytes.
    """
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(function, *of_scores))
