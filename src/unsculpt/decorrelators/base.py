"""What every decorrelator shares, and what a fitted conditional CDF is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import (
    Categorical,
    ProtectedAttributes,
)
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.efficiencies import at_each
from unsculpt.decorrelators.common.empirical import EmpiricalCDF, with_copies
from unsculpt.decorrelators.common.outside import Outside, check_outside
from unsculpt.devices import in_threads
from unsculpt.graph import Graph, Value
from unsculpt.inputs import (
    Columns,
    Floats,
    Mask,
    check_fraction,
    check_list,
    count_events,
    is_one_column,
    not_constant,
    positive_total,
    same_length,
    score_columns,
    weight_column,
    with_weight,
)
from unsculpt.lists import takes_lists
from unsculpt.saving import MODELS, Model

if TYPE_CHECKING:
    from unsculpt.decorrelators.chain import Chain

FEWEST_EVENTS = 10
ROUNDING = 1e-7  # of a level: in a chain it comes from another map
# Methods that take one entry for each event, or lists of them.
OF_EVENTS = {"fit", "partial_fit", "fit_transform", "transform", "inverse_transform", "threshold"}
OF_EVENTS |= {"thresholds", "select", "uncertainty", "log_prob", "sample"}


class Decorrelator(Model):
    """Turn a score into one whose background distribution ignores the protected attributes.

    This is the base class of all methods, and checks their input. Each sets `attributes_` and
    `one_column_` in its fit. A method that learns a conditional CDF of each score derives from
    `ScoreDecorrelator`.

    Attributes:
        method: the name on the command line; None if it cannot be fitted there.
        ending: what the name of a new score ends in: `tagger` becomes `tagger_flat`.
        attributes_: the protected attributes of the fit.
        one_column_: whether the fit had one score, (n,), rather than a table of them, (n, k).
    """

    method: ClassVar[str | None] = None
    ending = "flat"
    outside: Outside
    categorical: Sequence[str | int]
    attributes_: ProtectedAttributes
    one_column_: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in OF_EVENTS & vars(cls).keys():
            setattr(cls, name, takes_lists(vars(cls)[name]))

    @abstractmethod
    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from background events.

        Args:
            scores: background scores, (n,), or (n, k) for k scores.
            protected: their attributes: (n,), (n, a) or a table with named columns.
            sample_weight: (n,), negative weights included.
        """

    @abstractmethod
    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated score, in the order of the score at fixed attributes.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """

    def then(self, second: Any) -> Chain:
        """Return this model with another on top of it, as one `Chain`.

        Args:
            second: the decorrelator or the chain to put on top.

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
        check_list(getattr(self, "categorical", ()), "categorical")
        columns = score_columns(scores, name)
        given = len(columns)
        same_length(given, name, protected=count_events(protected))
        weight = weight_column(sample_weight, given, name)
        columns, kept, weight = with_weight(columns, protected, weight)
        events, n_scores = columns.shape
        few = events < FEWEST_EVENTS
        # An event of double weight is two.
        if few and (events == 0 or len(with_copies(weight, weight)[0]) < FEWEST_EVENTS):
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
        return shaped(out[0][:, None] if len(out) == 1 else np.column_stack(out), marked, values)

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
        return self._elsewhere(to, amount).transform(scores, protected)

    def _elsewhere(self, to: Any, amount: float) -> Decorrelator:
        """Return the model whose `transform` is `move`."""
        from unsculpt.decorrelators.common.reference import reference
        from unsculpt.decorrelators.move import Moved

        moved = Moved(self, to, amount)
        moved._check_parameters()
        check_is_fitted(self)
        reference(to, self.attributes_, None)  # refuses one that is none, before any file is read
        return moved

    def _nowhere(self, attributes: ProtectedAttributes, outside: Outside) -> bool:
        """Whether no event has an answer, as scores are moved beyond these attributes."""
        return False

    def variations(self, n: int) -> Sequence[tuple[Decorrelator, Decorrelator]]:
        """Return n pairs of models: the map moved up and down along directions of its error.

        The directions are independent of each other; those that matter most come first.

        Args:
            n: how many pairs.
        """
        raise ValueError(
            f"a {type(self).__name__} has no variations; a SplineDecorrelator knows the error of "
            "its map and has them"
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
    if marked.any():
        columns = np.where(marked[:, None], np.nan, columns)
    return columns[:, 0] if is_one_column(like) else columns


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

    def inverse_graph(self, graph: Graph, level: Value, features: Value) -> Value:
        """Return `inverse` as steps of a graph, within the scores of the fit."""


C = TypeVar("C", bound=ConditionalCDF)


class ScoreDecorrelator(Decorrelator, Generic[C]):
    """Replace every score by its conditional CDF, one column at a time.

    Attributes:
        cdfs_: the conditional CDF of each score.
        background_: the attributes of the fitted events, as a few weighted points; None in models
            from older files.
    """

    cdfs_: list[C]
    background_: Background | None = None

    @property
    def n_scores_(self) -> int:
        """How many scores the fit had."""
        return len(self.cdfs_)

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the conditional CDF of each score, on [0, 1].

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return self._each([cdf.cdf for cdf in self.cdfs_], scores, protected)

    def inverse_transform(self, levels: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `levels`.

        No score has the levels 0 and 1: they give the ends of the range of the fit.

        Args:
            levels: values of the new score, from 0 to 1.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        columns = score_columns(levels, "levels")
        low, high = columns.min(initial=0), columns.max(initial=1)
        if low < -ROUNDING or high > 1 + ROUNDING:
            raise ValueError(
                f"levels runs from {columns.min():g} to {columns.max():g}; expected decorrelated "
                "scores on [0, 1]"
            )
        inverses = [partial(_inverse, cdf) for cdf in self.cdfs_]
        return self._each(inverses, levels, protected, "levels")

    def threshold(self, efficiency: ArrayLike, protected: Any) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        Never beyond the scores of the fit: a smaller efficiency than they resolve gives the
        largest of them. Of m efficiencies it returns all cuts, (n, m), or (n, k, m) for k scores.

        Args:
            efficiency: the fraction of background to keep, or several of them.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)

        def cut(share: float) -> Floats:
            check_fraction(share, "efficiency")
            return self._in_range(np.full(self._shape(protected), 1 - share), protected)

        return at_each(cut, efficiency)

    def _in_range(self, levels: Floats, protected: Any) -> Floats:
        """Return the scores at these levels, kept to the range of the fit."""
        low, high = np.array([cdf.range for cdf in self.cdfs_]).T
        scores = self.inverse_transform(levels, protected)
        return np.clip(scores, *((low[0], high[0]) if self.one_column_ else (low, high)))

    def _shape(self, protected: Any) -> tuple[int, ...]:
        """Return the shape of scores that go with these attributes."""
        events = count_events(protected)
        return (events,) if self.one_column_ else (events, self.n_scores_)

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        features, mark = self.attributes_.graph(graph, protected, self.outside)
        flat = [
            cdf.graph(graph, score, features) for cdf, score in zip(self.cdfs_, scores, strict=True)
        ]
        return flat if mark is None else [score + mark for score in flat]


def _inverse(cdf: ConditionalCDF, level: Floats, features: Floats) -> Floats:
    level = np.clip(level, 0, 1)
    score = cdf.inverse(level, features)
    low, high = cdf.range
    score[level == 0], score[level == 1] = low, high
    return score


def methods() -> dict[str, type[Decorrelator]]:
    """Return the methods by their names on the command line."""
    # By the class's own word: one derived from it does not take its place.
    own = {kind: vars(kind).get("method") for kind in MODELS.values()}
    return {name: kind for kind, name in own.items() if issubclass(kind, Decorrelator) and name}
