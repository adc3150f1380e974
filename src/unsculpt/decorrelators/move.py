"""The score an event would have with its protected attributes elsewhere."""

from __future__ import annotations

from copy import copy
from functools import partial
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator, ScoreDecorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.draws import Draws
from unsculpt.decorrelators.common.elsewhere import (
    QuantileFunction,
    level_graph,
    moved_score,
    placed,
    placed_graph,
    quantile_function,
)
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.reference import BARYCENTRE, named, reference
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats, whole_number
from unsculpt.saving import Arrays, Json, packed, unpacked


class Moved(Decorrelator):
    """Give the score that an event would have with its attributes elsewhere.

    It is the score of the same quantile at other attributes, F⁻¹(F(score | attributes) |
    reference). It has the units of the score and keeps its order at fixed attributes. `model.move`
    does the same in one call; an object of this class is fitted, saved, applied and exported like
    any model.

    Many events may share one score (an atom). By default they move together, to where the middle of
    their quantiles goes. With `seed` they are distributed over these quantiles at random, so that
    the share of an atom is right at the reference, whatever it was before. A score beyond those of
    the fit moves as far as the nearest of them.

    Args:
        decorrelator: one of the whole distribution. It may be fitted already; `fit` fits it in
            place.
        to: a value of the attribute if there is one, `{"mass": 125.0}` to keep the others where
            they are, or "barycentre": the mean of the quantile functions over the attributes of
            the background, which changes scores the least of all that make them flat.
        amount: how far, on the straight line from the score (0) to where it goes (1).
        seed: seed of the random numbers that distribute the events of an atom; None keeps them
            together. The random number of an event depends on the seed, its scores and its
            attributes only, so it is the same in any file.

    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(5000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> halfway = Moved(spline, to=0.5, amount=0.5).transform(toy.score, toy.protected)
    >>> there = spline.move(toy.score, toy.protected, to=0.5)
    >>> bool(abs(halfway - (toy.score + there) / 2).max() < 1e-12)
    True
    """

    ending = "moved"

    def __init__(
        self, decorrelator: Any, to: Any = BARYCENTRE, amount: float = 1.0, seed: int | None = None
    ) -> None:
        self.decorrelator = decorrelator
        self.to = to
        self.amount = amount
        self.seed = seed

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the decorrelator on background events.

        Args:
            scores: background scores, (n,), or (n, k) for k scores.
            protected: their attributes: (n,), (n, a) or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        self._check_parameters()
        self.decorrelator.fit(scores, protected, sample_weight=sample_weight)
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the moved scores, in their own units.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        self._check_parameters()
        columns, features, marked = self.decorrelator._check(scores, protected)
        place, nowhere = self._reference()
        if self.amount == 0:
            return shaped(columns.copy(), marked | nowhere, scores)
        draws = None
        if self.seed is not None:
            draws = Draws.of_events(self.seed, columns, self.attributes_, protected)
        moved = [self._moved(i, x, features, place, draws) for i, x in enumerate(columns.T)]
        return shaped(np.column_stack(moved), marked | nowhere, scores)

    def _moved(
        self,
        which: int,
        score: Floats,
        features: Floats,
        place: dict[str, Any] | None,
        draws: Draws | None = None,
        higher: float = 0.0,
    ) -> Floats:
        """Return one of the scores where it goes, at these coordinates, from a higher level."""
        cdf = self.decorrelator.cdfs_[which]
        there: Floats | QuantileFunction
        if self._keeps_some(place):
            there = placed(self.attributes_, features, place or {})
        else:
            there = self._functions(place)[which]
        scatter = partial(draws.uniform, which=which) if draws else None
        moved = moved_score(cdf, score, features, there, scatter, higher)
        # Each term keeps the order, to the last bit.
        return (1 - self.amount) * score + self.amount * moved

    def variations(self, n: int) -> list[tuple[Moved, Moved]]:
        """Return what the variations of the decorrelator make of the scores.

        Args:
            n: how many pairs.
        """

        def moved(model: Decorrelator) -> Moved:
            return Moved(model, self.to, self.amount, self.seed)

        return [(moved(up), moved(down)) for up, down in self.decorrelator.variations(n)]

    @property
    def n_scores_(self) -> int:
        """How many scores the fit had."""
        return int(self.decorrelator.n_scores_)

    @property
    def attributes_(self) -> ProtectedAttributes:  # type: ignore[override]
        """The protected attributes of the fit."""
        return self.decorrelator.attributes_  # type: ignore[no-any-return]

    @property
    def one_column_(self) -> bool:  # type: ignore[override]
        """Whether the fit had one score."""
        return bool(self.decorrelator.one_column_)

    @property
    def source_(self) -> Json | None:
        """The columns of the files of the fit."""
        return cast("Json | None", self.decorrelator.source_)

    @source_.setter
    def source_(self, source: Json | None) -> None:
        self.decorrelator.source_ = source

    def _nowhere(self, attributes: ProtectedAttributes, outside: Outside) -> bool:
        return reference(self.to, attributes, outside)[1]

    @property
    def outside(self) -> Outside:
        """What becomes of protected values, and of `to`, beyond the fitted range."""
        return cast("Outside", self.decorrelator.outside)

    @outside.setter
    def outside(self, outside: Outside) -> None:
        self.decorrelator.outside = outside

    def __copy__(self) -> Self:
        """Return another with a decorrelator of its own: `outside` is that of the decorrelator."""
        other = type(self)(copy(self.decorrelator), self.to, self.amount, self.seed)
        other.__dict__.update(self.__dict__ | {"decorrelator": other.decorrelator})
        return other

    def __sklearn_is_fitted__(self) -> bool:
        check_is_fitted(self.decorrelator)
        return True

    def _check_parameters(self) -> None:
        check_movable(self.decorrelator)
        amount = self.amount
        if isinstance(amount, bool) or not (isinstance(amount, Real) and 0 <= amount <= 1):
            raise ValueError(
                f"amount is {amount!r}; expected a number from 0, where nothing moves, to 1"
            )
        if self.seed is not None:
            whole_number(self.seed, "seed", 0)

    def _reference(self) -> tuple[dict[str, Any] | None, bool]:
        return reference(self.to, self.attributes_, self.outside)

    def _keeps_some(self, reference: dict[str, Any] | None) -> bool:
        """Whether attributes stay where they are, so that each event goes to a place of its own."""
        return reference is not None and len(reference) < len(self.attributes_.attributes)

    def _functions(self, reference: dict[str, Any] | None) -> list[QuantileFunction]:
        """Return the quantile function of each score that all events go to."""
        cdfs, what = self.decorrelator.cdfs_, repr(reference)
        known = self.__dict__.get("_known")  # a barycentre takes a second: files come in chunks
        if known is None or known[0] != what or known[1] is not cdfs:
            if reference is None:
                background = _background(self.decorrelator)
            else:
                zeros = np.zeros((1, self.attributes_.width))
                background = Background(placed(self.attributes_, zeros, reference), np.ones(1))
            functions = [quantile_function(cdf, background) for cdf in cdfs]
            self.__dict__["_known"] = known = (what, cdfs, functions)
        return list(known[2])

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        self._check_parameters()
        place, nowhere = self._reference()
        features, mark = self.attributes_.graph(graph, protected, self.outside)
        if nowhere:
            mark = graph.constant(np.nan)
        out = []
        for i, (cdf, score) in enumerate(zip(self.decorrelator.cdfs_, scores, strict=True)):
            inside = score.clip(*cdf.range)
            drawn = None if self.seed is None else i
            level = level_graph(graph, cdf, score, features, drawn)
            if self._keeps_some(place):
                there = placed_graph(graph, self.attributes_, features, place or {})
                moved = cdf.inverse_graph(graph, level, there)
            else:
                levels, values = self._functions(place)[i]
                moved = graph.interpolate([(levels, level.clip(levels[0], levels[-1]))], values)
            out.append((1 - self.amount) * score + self.amount * (moved + (score - inside)))
        return out if mark is None else [score + mark for score in out]

    def _state(self) -> tuple[Arrays, Json]:
        arrays, fitted = packed(self.decorrelator, "moved")
        to = named(self.to, self.attributes_.names)
        parameters: Json = {"to": BARYCENTRE if to is None else to, "amount": self.amount}
        parameters |= {"decorrelator": None, "seed": self.seed}
        return arrays, {
            "parameters": parameters,
            "decorrelator": fitted,
            "protected": fitted["protected"],
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.decorrelator = unpacked(arrays, metadata["decorrelator"], "moved")


def check_movable(model: Any) -> None:
    """Refuse what does not know the whole distribution of its scores."""
    if isinstance(model, Moved):
        raise ValueError(
            f"the model is a Moved already, to {model.to!r}; move its decorrelator instead, or set "
            "its `to` and `amount`"
        )
    if not isinstance(model, ScoreDecorrelator):
        raise ValueError(
            f"a {type(model).__name__} does not know the whole distribution of a score, which a "
            "move needs; take a SplineDecorrelator, a FlowDecorrelator or a continuous "
            "QuantileDecorrelator. Chain, CrossFit and TableDecorrelator go around what moves"
        )
    if not getattr(model, "continuous", True):
        raise ValueError(
            "continuous is False: the regression knows its quantiles only, and a move needs what "
            "lies between; call set_params(continuous=True)"
        )


def _background(model: Any) -> Background:
    background: Background | None = getattr(model, "background_", None)
    if background is None:
        raise ValueError(
            f"the {type(model).__name__} is of an earlier version, which did not keep where the "
            "background lies; fit it again to move to the barycentre"
        )
    return background
