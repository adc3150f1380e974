"""The score an event would have with its protected attributes elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import ConditionalCDF, Decorrelator, ScoreDecorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.draws import Draws
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.reference import BARYCENTRE, named, reference
from unsculpt.devices import in_threads
from unsculpt.graph import Graph, Input, Value
from unsculpt.inputs import Floats, whole_number
from unsculpt.saving import Arrays, Json, packed, unpacked

PLACES = np.linspace(0, 1, 1025)  # of a score's coordinate, where a quantile function has nodes
LEVELS = np.union1d(PLACES, expit(np.linspace(-16, 16, 1025)))  # where a mean of several has them

RANDOM = Input(expression="a random number, evenly from 0 to 1")

QuantileFunction = tuple[Floats, Floats]
"""Levels, increasing, and the scores there."""
Scatter = Callable[[NDArray[np.intp]], Floats]
"""Gives a number from 0 to 1 for some of the events."""


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
            level = level_graph(graph, cdf, inside, features, drawn)
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


def moved_score(
    cdf: ConditionalCDF,
    score: Floats,
    features: Floats,
    to: Floats | QuantileFunction,
    scatter: Scatter | None = None,
    higher: float = 0.0,
) -> Floats:
    """Return the scores elsewhere that have the levels these have here.

    Args:
        cdf: of the score.
        score: (n,).
        features: coordinates of the attributes here, (n, f).
        to: coordinates elsewhere, (n, f), or the quantile function there.
        scatter: gives the levels of atoms in their jump; None for its middle.
        higher: is added to the levels, to see what an error of them does.
    """
    low, high = cdf.range
    inside = np.clip(score, low, high)
    level = in_threads(cdf.cdf, inside, features)
    if scatter is not None:
        level = _scattered(cdf, inside, features, level, scatter)
    if higher:
        level = np.clip(level + higher, 0, 1)
    if isinstance(to, np.ndarray):
        there = in_threads(cdf.inverse, level, to)
    else:
        there = np.interp(level, *to)
    # Beyond the scores of the fit, as far as the nearest of them: ordered, and no jump.
    return np.asarray(np.clip(there, low, high) + (score - inside))


def quantile_function(cdf: ConditionalCDF, at: Background) -> QuantileFunction:
    """Return the mean of the quantile functions at some points.

    At one of them it is the inverse of the CDF: what a table is between its nodes, it is too.
    """
    coordinate = cdf.coordinate
    # A table is linear between its own nodes.
    nodes = getattr(getattr(cdf, "table", None) or cdf, "score", np.empty(0))
    places = coordinate.inverse(np.concatenate([PLACES, nodes]))
    scores = np.unique(np.concatenate([coordinate.quantiles, places]).clip(*cdf.range))
    atoms = atoms_of(cdf)
    where = np.concatenate([scores, atoms, atoms])
    mean = np.zeros(len(LEVELS))
    for point, weight in zip(at.features, at.weight, strict=True):
        level = np.concatenate(
            [
                cdf.cdf(scores, np.tile(point, (len(scores), 1))),
                *_jumps(cdf, atoms, np.tile(point, (len(atoms), 1))),
            ]
        )
        order = np.lexsort([level, where])
        level, score = _rising(np.maximum.accumulate(level[order]), where[order])
        if len(at.weight) == 1:
            return level, score
        mean += weight * np.interp(LEVELS, level, score)
    return LEVELS, mean


def _rising(level: Floats, score: Floats) -> QuantileFunction:
    """Return levels that rise from one to the next, with the scores there.

    Where the curve is flat no event has its level, so that the score jumps there, within rounding:
    between two atoms there is nothing.
    """
    level, rows, counts = np.unique(level, return_index=True, return_counts=True)
    first, last = score[rows], score[rows + counts - 1]
    flat = last > first
    both = np.concatenate([level, level[flat] + np.finfo(float).eps])
    both, rows = np.unique(both, return_index=True)
    return both, np.maximum.accumulate(np.concatenate([first, last[flat]])[rows])


def placed(attributes: ProtectedAttributes, features: Floats, values: dict[str, Any]) -> Floats:
    """Return coordinates with some attributes elsewhere: at one value, or at one for each event."""
    out, first = features.copy(), 0
    for attribute in attributes.attributes:
        if attribute.name in values:
            column = np.atleast_1d(values[attribute.name])
            out[:, first : first + attribute.width] = attribute.features(column)
        first += attribute.width
    return out


def placed_graph(
    graph: Graph, attributes: ProtectedAttributes, features: Value, values: dict[str, Any]
) -> Value:
    """Return the same, of attributes at one value, as steps of a graph."""
    # What stays has no value here yet.
    there = placed(attributes, np.full((1, attributes.width), np.nan), values)
    stays = np.isnan(there)
    return features * stays.astype(float) + np.where(stays, 0, there)


def level_graph(
    graph: Graph, cdf: ConditionalCDF, score: Value, features: Value, drawn: int | None
) -> Value:
    """Return the levels of scores as steps of a graph.

    Those of atoms are drawn by a random number of the event, the input of this number.
    """
    atoms = atoms_of(cdf)
    if drawn is None or not len(atoms):
        return cdf.graph(graph, score, features)
    nearest = graph.count_below(np.nextafter(atoms[1:], -np.inf), score)
    at_atom = graph.take(atoms, nearest).equals(score)
    ends = (graph.take(np.nextafter(atoms, end), nearest) for end in (-np.inf, np.inf))
    low, high = (cdf.graph(graph, graph.where(at_atom, end, score), features) for end in ends)
    return low + _random(graph, f"random_{drawn}") * (high - low)


def _random(graph: Graph, name: str) -> Value:
    """Return a random number of the event, which is one input for all folds."""
    if graph.inputs.get(name) is not RANDOM:
        return graph.input(name, RANDOM)
    return graph.add("Unsqueeze", Value(graph, name), axes=[1])


def _background(model: Any) -> Background:
    background: Background | None = getattr(model, "background_", None)
    if background is None:
        raise ValueError(
            f"the {type(model).__name__} is of an earlier version, which did not keep where the "
            "background lies; fit it again to move to the barycentre"
        )
    return background


def atoms_of(cdf: ConditionalCDF) -> Floats:
    """Return the scores that many events share."""
    knots, start, end = cdf.coordinate.steps
    return knots[end > start]


def _jumps(cdf: ConditionalCDF, atoms: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Return the levels at which the jump of each atom starts and ends."""
    cdf_there = getattr(cdf, "at_jump", cdf.cdf)
    low, high = (cdf_there(np.nextafter(atoms, end), features) for end in (-np.inf, np.inf))
    return low, high


def _scattered(
    cdf: ConditionalCDF, score: Floats, features: Floats, level: Floats, scatter: Scatter
) -> Floats:
    """Return the levels with those of atoms drawn from their jumps."""
    rows = np.flatnonzero(np.isin(score, atoms_of(cdf)))
    low, high = _jumps(cdf, score[rows], features[rows])
    level = level.copy()
    level[rows] = low + (high - low) * scatter(rows)
    return level
