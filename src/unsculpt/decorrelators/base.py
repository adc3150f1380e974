"""What every decorrelator shares, and what a fitted conditional CDF is."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import (
    Categorical,
    Outside,
    ProtectedAttributes,
    check_outside,
    users_level,
)
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.devices import in_threads
from unsculpt.graph import Graph, Value
from unsculpt.inputs import (
    Columns,
    Floats,
    Mask,
    check_fraction,
    count_events,
    not_constant,
    positive_total,
    same_length,
    score_columns,
    weight_column,
    with_weight,
)
from unsculpt.metrics import TooFewEventsError, flatness_test
from unsculpt.saving import MODELS, Model

if TYPE_CHECKING:
    from unsculpt.decorrelators.chain import Chain

FEWEST_EVENTS = 10
# A fit is held against its own events at these levels of the new score.
JUDGED_AT = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
NARROW, WIDE = 200, 50  # cells of the attributes
FEWEST_IN_SLICE = 25
TIES = 0.01  # of the events that share a score: fewer matter little
# On so many of them, of all scores together: a network takes two seconds for these.
JUDGED_EVENTS = 200_000
# If it is this far from them, it does not follow them.
NOT_BY_CHANCE = 1e-3
SPLINE, FLOW = "a SplineDecorrelator", "a FlowDecorrelator"  # each where the other fails


class Decorrelator(Model):
    """Turns a score into one whose background distribution ignores the protected attributes.

    A method learns `attributes_` and `one_column_` beside its own; the checks of its input are
    here. Derive from `ScoreDecorrelator` what learns a conditional CDF of each score.

    Attributes:
        method: what it is called on the command line; None for what is not fitted there.
        attributes_: the protected attributes of the fit.
        one_column_: whether the fit had one score, (n,), rather than a table of them, (n, k).
    """

    method: ClassVar[str | None] = None
    outside: Outside
    categorical: Sequence[str | int]
    attributes_: ProtectedAttributes
    one_column_: bool

    @abstractmethod
    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from background events."""

    @abstractmethod
    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated score, in the order of the score at fixed attributes."""

    def then(self, second: Any) -> Chain:
        """Return this model with another on top of it, as one `Chain`.

        >>> from unsculpt import FlowDecorrelator
        >>> chain = FlowDecorrelator().then(FlowDecorrelator.paper())
        >>> len(chain.steps)
        2
        """
        from unsculpt.decorrelators.chain import Chain

        return Chain([self]).then(second)

    @property
    @abstractmethod
    def n_scores_(self) -> int:
        """How many scores the fit had."""

    @property
    def protected_inputs_(self) -> dict[str, bool]:
        """The protected columns of the fit, by name, and whether they hold text."""
        return {
            attribute.name: isinstance(attribute, Categorical) and attribute.is_text
            for attribute in self.attributes_.attributes
        }

    def _check_fit(
        self,
        scores: ArrayLike,
        protected: Any,
        sample_weight: ArrayLike | None,
        name: str = "scores",
    ) -> tuple[Floats, Columns, Floats]:
        """Check the events of a fit; return score columns, (n, k), protected ones, and weights.

        An event of weight zero is none.
        """
        check_outside(self.outside)
        columns = score_columns(scores, name)
        given = len(columns)
        same_length(given, name, protected=count_events(protected))
        weight = weight_column(sample_weight, given, name)
        columns, kept, weight = with_weight(columns, protected, weight)
        events, n_scores = columns.shape
        if events < FEWEST_EVENTS:
            which = "events" if events == given else "events with a weight other than zero"
            raise ValueError(f"{name} has {events} {which}; a fit needs at least {FEWEST_EVENTS}")
        positive_total(weight)
        for i, column in enumerate(columns.T):
            not_constant(column, name if n_scores == 1 else f"{name}[:, {i}]")
        return columns, kept, weight

    def _check(
        self, values: ArrayLike, protected: Any, name: str = "scores"
    ) -> tuple[Floats, Floats, Mask]:
        """Check events to transform.

        Returns:
            Their columns, (n, k), the coordinates of their attributes, and which become NaN.
        """
        check_is_fitted(self)
        columns = score_columns(values, name)
        events, n_scores = columns.shape
        if n_scores != self.n_scores_:
            raise ValueError(f"{name} has {n_scores} columns; the fit had {self.n_scores_}")
        same_length(events, name, protected=count_events(protected))
        return columns, *self.attributes_.features(protected, self.outside)

    def _along(self, protected: Any) -> Any:
        """Return the columns of `attributes_`, which a method may make of those it is given."""
        return protected

    def _along_graph(self, graph: Graph, protected: list[Value]) -> list[Value]:
        """Return the same as steps of a graph."""
        return protected

    def _each(
        self,
        functions: Sequence[Callable[[Floats, Floats], Floats]],
        values: ArrayLike,
        protected: Any,
        name: str = "scores",
    ) -> Floats:
        """Check the input and apply a function of each score and the attributes to its column."""
        columns, features, marked = self._check(values, protected, name)
        out = [
            in_threads(f, column, features) for f, column in zip(functions, columns.T, strict=True)
        ]
        return shaped(np.column_stack(out), marked, values)

    def move(self, scores: ArrayLike, protected: Any, *, to: Any, amount: float = 1.0) -> Floats:
        """Return the scores that events would have with their attributes elsewhere.

        In the units of the score, and in its order at fixed attributes.

        Args:
            scores: as in the fit.
            protected: as in the fit.
            to: a value of the attribute if there is one, `{"mass": 125.0}` to keep the others
                where they are, or "barycentre", the mean over the attributes of the background.
            amount: how far, on the straight line from the score (0) to where it goes (1).
        """
        from unsculpt.decorrelators.move import Moved

        return Moved(self, to, amount).transform(scores, protected)

    def variations(self, n: int) -> Sequence[tuple[Decorrelator, Decorrelator]]:
        """Return n pairs of models: the map moved up and down along directions of its error.

        The directions are independent of each other; those that matter most come first.
        """
        raise ValueError(
            f"a {type(self).__name__} has no variations; {SPLINE} knows the error of its map and "
            "has them"
        )

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        """Return `transform` as steps of a graph, for other programs to run."""
        raise ValueError(
            f"a {type(self).__name__} cannot be exported; expected a decorrelator of scores such "
            "as FlowDecorrelator"
        )


def varied(model: Decorrelator, n: int) -> dict[str, Decorrelator]:
    """Return a model as `nominal`, with n pairs of its variations: `up_1`, `down_1`, ..."""
    models = {"nominal": model}
    for i, (up, down) in enumerate(model.variations(n), start=1):
        models |= {f"up_{i}": up, f"down_{i}": down}
    return models


def shaped(columns: Floats, marked: Mask, like: ArrayLike) -> Floats:
    """Mark what is outside, and return one column, (n,), where the input was one."""
    columns = np.where(marked[:, None], np.nan, columns)
    return columns[:, 0] if np.ndim(like) == 1 else columns


class ConditionalCDF(Protocol):
    """The fitted conditional CDF of one score."""

    @property
    def coordinate(self) -> EmpiricalCDF:
        """Maps the score to [0, 1], whatever the attributes are."""

    @property
    def range(self) -> tuple[float, float]:
        """Where the scores of the fit end."""

    def cdf(self, score: Floats, features: Floats) -> Floats:
        """Return P(background score <= score | attributes)."""

    def inverse(self, level: Floats, features: Floats) -> Floats:
        """Return the score whose `cdf` is `level`."""

    def graph(self, graph: Graph, score: Value, features: Value) -> Value:
        """Return `cdf` as steps of a graph."""


C = TypeVar("C", bound=ConditionalCDF)


class ScoreDecorrelator(Decorrelator, Generic[C]):
    """Replaces every score by its conditional CDF, one column at a time.

    Attributes:
        cdfs_: the conditional CDF of each score.
        background_: where the events of the fit lie in the attributes; None of older files.
    """

    cdfs_: list[C]
    background_: Background | None = None

    @property
    def n_scores_(self) -> int:
        """How many scores the fit had."""
        return len(self.cdfs_)

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the conditional CDF of each score, on [0, 1]."""
        check_is_fitted(self)
        return self._each([cdf.cdf for cdf in self.cdfs_], scores, protected)

    def inverse_transform(self, levels: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `levels`."""
        check_is_fitted(self)
        columns = score_columns(levels, "levels")
        low, high = columns.min(initial=0), columns.max(initial=1)
        if low < 0 or high > 1:
            raise ValueError(
                f"levels runs from {columns.min():g} to {columns.max():g}; expected decorrelated "
                "scores on [0, 1]"
            )
        return self._each([cdf.inverse for cdf in self.cdfs_], levels, protected, "levels")

    def threshold(self, efficiency: float, protected: Any) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        Never beyond the scores of the fit: a smaller efficiency than they resolve gives the
        largest of them.
        """
        check_is_fitted(self)
        check_fraction(efficiency, "efficiency")
        return self._in_range(np.full(self._shape(protected), 1 - efficiency), protected)

    def _in_range(self, levels: Floats, protected: Any) -> Floats:
        """Return the scores at these levels, kept to the range of the fit."""
        low, high = np.array([cdf.range for cdf in self.cdfs_]).T
        scores = self.inverse_transform(levels, protected)
        return np.clip(scores, *((low[0], high[0]) if self.one_column_ else (low, high)))

    def _shape(self, protected: Any) -> tuple[int, ...]:
        """The shape of scores that go with these attributes."""
        events = count_events(protected)
        return (events,) if self.one_column_ else (events, self.n_scores_)

    def _warn_unless_followed(
        self,
        cdfs: Sequence[C],
        columns: Floats,
        features: Floats,
        protected: Columns,
        weight: Floats,
        levels: Floats = JUDGED_AT,
    ) -> None:
        """Say so if cuts on the new scores of the events of a fit depend on the attributes.

        One cut in the middle in narrow cells of the attributes, and cuts at all levels in wide
        ones: of hard cuts few events are left.
        """
        some = slice(None, None, -(-columns.size // JUDGED_EVENTS))
        features, protected, weight = features[some], protected[some], weight[some]
        effective = weight.sum() ** 2 / (weight**2).sum()
        for i, (cdf, score) in enumerate(zip(cdfs, columns[some].T, strict=True)):
            flat = self._without_atoms(cdf, score, features)
            if flat is None:
                continue
            passing = np.array([np.mean(flat >= level) for level in levels])
            enough = effective * np.minimum(passing, 1 - passing) >= 2 * FEWEST_IN_SLICE
            middle = levels[[np.abs(levels - 0.5).argmin()]]
            found = []
            for cuts, cells in ((middle, NARROW), (levels[enough], WIDE)):
                with suppress(TooFewEventsError):
                    slices = np.digitize(flat, cuts)
                    test = flatness_test(slices, protected, cells=cells, sample_weight=weight)
                    found.append(test)
            if not found:
                continue
            worst = min(found, key=lambda test: test.p_value)
            p_value = min(len(found) * worst.p_value, 1.0)
            which = "the score" if columns.shape[1] == 1 else f"score {i}"
            # Splines take two attributes at most.
            other = SPLINE if len(protected) < 3 else None
            warn_if_far(worst.chi2, worst.degrees, p_value, which, worst.where, other)

    def _without_atoms(self, cdf: C, score: Floats, features: Floats) -> Floats | None:
        """Return the new score; events that share a score share what the map jumps by there.

        None if the map cannot tell the two ends of a jump.
        """
        if len(np.unique(score)) > (1 - TIES) * len(score):
            return in_threads(cdf.cdf, score, features)
        between = getattr(cdf, "at_jump", None)
        if between is None:
            return None
        low, high = (between(np.nextafter(score, end), features) for end in (-np.inf, np.inf))
        return np.asarray(low + np.random.default_rng(0).random(len(low)) * (high - low))

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        features, mark = self.attributes_.graph(graph, protected, self.outside)
        flat = [
            cdf.graph(graph, score, features) for cdf, score in zip(self.cdfs_, scores, strict=True)
        ]
        return flat if mark is None else [score + mark for score in flat]


class MisfitWarning(UserWarning):
    """A fit does not follow its events."""


def warn_if_far(
    chi2: float, degrees: int, p_value: float, score: str, where: str, other: str | None
) -> None:
    """Say that a fit does not follow the events of a score, and what to try instead."""
    if p_value < NOT_BY_CHANCE:
        warnings.warn(
            f"the fit does not follow the events of {score}: chi2 {chi2:.0f} for {degrees}, "
            f"p = {p_value:.1g}, worst at {where}. A cut on the new score sculpts there: judge it "
            "on other events" + (f", and see whether {other} is better" if other else ""),
            MisfitWarning,
            stacklevel=users_level(),
        )


def methods() -> dict[str, type[Decorrelator]]:
    """Return the methods by their names on the command line."""
    # By the class's own word: one derived from it does not take its place.
    own = {kind: vars(kind).get("method") for kind in MODELS.values()}
    return {name: kind for kind, name in own.items() if issubclass(kind, Decorrelator) and name}
