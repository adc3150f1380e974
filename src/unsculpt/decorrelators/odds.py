"""The last step for scores of several classes: the odds of each class made flat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, logsumexp

from unsculpt.decorrelators.base import Decorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.move import Moved
from unsculpt.decorrelators.spline import SplineDecorrelator
from unsculpt.decorrelators.transport.coordinates import (
    log_probabilities,
    on_simplex,
    simplex_graph,
)
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays, Json, packed_all, unpacked_all


class OddsDecorrelator(Decorrelator):
    """Make the probabilities of several classes flatter; together they still sum to one.

    Fit it on background. One class after the other, the odds of the class against all others are
    moved to the barycentre of their distributions, by a spline in the attributes, and the ratios
    of the others are kept. So a cut on the probability of the last class does not change the
    spectrum. But the step of a class changes the classes before it a little, and if the scores are
    far from flat, the earlier classes sculpt again.

    So put it on top of `TransportDecorrelator`, which moves all classes together and follows the
    bulk of the events, but not their tails: `TransportDecorrelator().then(OddsDecorrelator())`.

    Takes one or two protected attributes, continuous or with a few categories.

    Args:
        outside: what becomes of protected values beyond the fitted range: the nearest fitted value
            stands in ("clip", with a warning), an error ("raise"), or NaN ("nan", with a warning).
        categorical: protected columns to treat as categories, by name or position.

    Attributes:
        moves_: the fitted move of the log-odds of each class, in the order of application.

    >>> import numpy as np
    >>> from unsculpt.datasets import toys
    >>> toy = toys.three_classes(5000, 0, seed=1)
    >>> odds = OddsDecorrelator().fit(toy.score, toy.protected)
    >>> flat = odds.transform(toy.score, toy.protected)
    >>> bool(np.allclose(flat.sum(axis=1), 1))
    True
    """

    moves_: list[Moved]

    def __init__(self, *, outside: Outside = "clip", categorical: Sequence[str | int] = ()) -> None:
        self.outside = outside
        self.categorical = categorical

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the odds of each class given the attributes from background events.

        Args:
            scores: (n, classes), probabilities that sum to one.
            protected: (n,) or (n, 2) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        _check_probabilities(columns)
        # Of two classes, one says what the other is.
        fresh = range(columns.shape[1] if columns.shape[1] > 2 else 1)
        moves = [Moved(SplineDecorrelator(categorical=self.categorical)) for _ in fresh]
        logs = log_probabilities(columns)
        for k, move in enumerate(moves):
            move.fit(_log_odds(logs, k), protected, sample_weight=weight)
            move.outside = None  # type: ignore[assignment]  # what is outside is said once
            logs = _moved(move, logs, k, protected)
        self._keep(moves_=moves, one_column_=False)
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return probabilities, (n, classes), that sum to one and know less of the attributes.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        columns, _, marked = self._check(scores, protected)
        _check_probabilities(columns)
        logs = log_probabilities(columns)
        for k, move in enumerate(self.moves_):
            logs = _moved(move, logs, k, protected)
        return shaped(np.exp(logs), marked, scores)

    @property
    def attributes_(self) -> ProtectedAttributes:  # type: ignore[override]
        """The protected attributes of the fit."""
        return self.moves_[0].attributes_

    @property
    def n_scores_(self) -> int:
        """How many classes the fit had."""
        return max(len(self.moves_), 2)

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        logs, mark = simplex_graph(graph, scores)
        _, outside = self.attributes_.graph(graph, protected, self.outside)
        if outside is not None:
            mark = mark + outside
        for k, move in enumerate(self.moves_):
            others = reduce(lambda a, b: a + graph.softplus(b - a), [*logs[:k], *logs[k + 1 :]])
            (odds,) = move._graph(graph, [logs[k] - others], protected)
            logs = [log - (others + graph.softplus(odds)) for log in logs]
            logs[k] = 0.0 - graph.softplus(0.0 - odds)
        return [graph.add("Exp", log) + mark for log in logs]

    def _state(self) -> tuple[Arrays, Json]:
        arrays, moves = packed_all(self.moves_, "class")
        return arrays, {"protected": moves[0]["protected"], "moves": moves}

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.one_column_ = False
        self.moves_ = unpacked_all(arrays, metadata["moves"], "class")
        for move in self.moves_:
            move.outside = None  # type: ignore[assignment]


def _check_probabilities(columns: Floats) -> None:
    if columns.shape[1] < 2 or not on_simplex(columns):
        raise ValueError(
            "scores has rows that do not sum to one; expected the probabilities of two or more "
            "exclusive classes. Other scores are for SplineDecorrelator, one at a time"
        )


def _log_odds(logs: Floats, k: int) -> Floats:
    """Return the log of the odds of one class against all others."""
    return np.asarray(logs[:, k] - logsumexp(np.delete(logs, k, axis=1), axis=1))


def _moved(move: Moved, logs: Floats, k: int, protected: Any) -> Floats:
    """Return log probabilities with the odds of one class moved, and the others' ratios kept."""
    others = logsumexp(np.delete(logs, k, axis=1), axis=1)
    odds = move.transform(logs[:, k] - others, protected)
    out = logs + (log_expit(-odds) - others)[:, None]
    out[:, k] = log_expit(odds)
    return np.asarray(out)
