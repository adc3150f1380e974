"""Every event transformed by a model that has not seen it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.chain import models_of
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.folds import NEW, check_folds, fold_of_each
from unsculpt.decorrelators.common.outside import STRICTEST_FIRST
from unsculpt.decorrelators.crossfit.errors import FoldErrors
from unsculpt.decorrelators.crossfit.models import first_of, joined, silent, train
from unsculpt.graph import Graph, Value
from unsculpt.inputs import (
    Columns,
    Floats,
    Mask,
    as_array,
    count_events,
    in_order_of,
    is_one_column,
    numbers,
    positive_total,
    protected_columns,
    same_length,
    score_columns,
    weight_column,
    whole_number,
)
from unsculpt.saving import Arrays, Json, packed_all, unpacked_all

COUNTED = "events with a weight other than zero"


class CrossFit(FoldErrors, Decorrelator):
    """Transform every event by a model that was not fitted on it, and still fit on all of them.

    On the events of its fit a model looks flatter than on others. So the events are divided into
    folds, and for each fold a model is fitted on the events of the other folds.

    The fold of an event is its number modulo `folds`: the same event is in the same fold in any
    order, file and program. For an event that is in none of the fits, `transform` returns the mean
    over the models. The mean keeps the order of scores, as each model does.

    It also takes a classifier with a decorrelator on top,
    `CrossFit(classifier.then(decorrelator))`. A classifier gives its training events other scores
    than new events. So for each fold the decorrelator is fitted on the background of the next fold,
    and the classifier is trained on the folds that are left.

    Args:
        decorrelator: any decorrelator; copies of it are fitted, and it stays as it is.
        folds: number of folds. With more folds each fit has more events, and there are more fits.

    Attributes:
        models_: the fitted model of each fold.
        outside: what becomes of values beyond the range of all events, as the decorrelator says.
            Beyond the range of the event's own model only, the nearest value of that fit is used.

    >>> import numpy as np
    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(5000, 0, seed=1)
    >>> number = np.arange(5000)  # of each event, in its run say
    >>> spline = CrossFit(SplineDecorrelator(), folds=3)
    >>> spline = spline.fit(toy.score, toy.protected, event=number)
    >>> flat = spline.transform(toy.score, toy.protected, event=number)
    >>> bool(np.all(flat == spline.transform(toy.score, toy.protected, fold=number % 3)))
    True
    """

    models_: list[Any]

    def __init__(self, decorrelator: Any, folds: int = 5) -> None:
        self.decorrelator = decorrelator
        self.folds = folds

    def fit(
        self,
        scores: ArrayLike,
        protected: Any,
        *,
        event: ArrayLike | None = None,
        label: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit a model for each fold on the events of the others.

        Args:
            scores: as the decorrelator takes them; the features, if a classifier comes first.
            protected: as the decorrelator takes them.
            event: (n,) whole numbers, whose remainder tells the fold; the row's if not given.
            label: (n,) the classes, background the first in order, on which alone maps are
                fitted. A classifier needs it; without, all events are background.
            sample_weight: (n,), negative weights included.
        """
        classifier = self._check_models()
        columns = score_columns(scores, "scores")
        total = len(columns)
        table = Columns(zip(*protected_columns(protected), strict=True))
        same_length(total, protected=count_events(table))
        for name, values in table.items():
            if values.dtype.kind == "f":
                numbers(values, name)  # to count all that is NaN, not that of a fold
        weight = weight_column(sample_weight, total)
        counted = weight != 0
        background = counted & self._background(label, total, classifier)
        fold = fold_of_each(self.folds, total, None, np.arange(total) if event is None else event)
        check_folds(fold[background], self.folds, which="events" if counted.all() else COUNTED)
        positive_total(weight[background])
        given = scores if classifier else columns[:, 0] if is_one_column(scores) else columns

        def events(rows: Mask) -> tuple[Any, Columns, Floats]:
            return _safe_indexing(given, np.flatnonzero(rows)), table[rows], weight[rows]

        models: list[Any] = []
        for k in range(self.folds):
            model = clone(self.decorrelator)
            others = background & (fold != k)
            if classifier:
                following = fold == (k + 1) % self.folds
                learn, others = counted & (fold != k) & ~following, background & following
                train(models_of([model])[0], as_array(label, "label")[learn], *events(learn))
            x, attributes, its_weight = events(others)
            model.fit(x, attributes, sample_weight=its_weight)
            models.append(model)
        parts = [part for part in models_of(models) if isinstance(part, Decorrelator)]
        outside = min((part.outside for part in parts), key=STRICTEST_FIRST.index)
        joined(models)  # refuses a category that a model has not seen
        self._keep(models_=models, outside=outside)
        self.__dict__.pop("_silent_models", None)
        return self

    def fit_transform(
        self,
        scores: ArrayLike,
        protected: Any,
        *,
        event: ArrayLike | None = None,
        label: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Floats:
        """Fit, and transform the same events, each by a model that has not seen it.

        Args:
            scores: as in `fit`.
            protected: as in `fit`.
            event: (n,) whole numbers, whose remainder tells the fold; the row's if not given.
            label: (n,) the classes, as in `fit`.
            sample_weight: (n,), negative weights included.
        """
        self.fit(scores, protected, event=event, label=label, sample_weight=sample_weight)
        event = np.arange(count_events(protected)) if event is None else event
        return self.transform(scores, protected, event=event)

    def transform(
        self,
        scores: ArrayLike,
        protected: Any,
        *,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return what the model of each event's fold makes of it.

        Args:
            scores: as in the fit.
            protected: as in the fit.
            fold: (n,) the fold of each event, from 0 on; -1 for one that no model has seen.
            event: (n,) the number of each event instead. Without either, no model has seen them.
        """
        check_is_fitted(self)
        columns, _, marked = self._check(scores, self._first._along(protected))
        marked = marked | self.models_[0]._nowhere(self.attributes_, self.outside)
        classifier = not isinstance(models_of(self.models_)[0], Decorrelator)
        given = scores if classifier else columns[:, 0] if is_one_column(scores) else columns
        table = self._table(protected)
        return self._by_fold(
            lambda model, rows: model.transform(_safe_indexing(given, rows), table[rows]),
            fold_of_each(len(self.models_), len(columns), fold, event),
            marked,
        )

    def threshold(
        self,
        efficiency: ArrayLike,
        protected: Any,
        *,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        It is that of the event's fold; for events that no model has seen, the mean of all.

        Args:
            efficiency: the fraction of background to keep, or several of them.
            protected: the attributes of the same events, as in the fit.
            fold: (n,) the fold of each event, from 0 on; -1 for one that no model has seen.
            event: (n,) the number of each event instead of its fold.
        """
        self._check_has("threshold")
        _, marked = self.attributes_.features(self._first._along(protected), self.outside)
        table = self._table(protected)
        return self._by_fold(
            lambda model, rows: model.threshold(efficiency, table[rows]),
            fold_of_each(len(self.models_), len(marked), fold, event),
            marked,
        )

    def inverse_transform(
        self,
        levels: ArrayLike,
        protected: Any,
        *,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return the scores whose `transform` is `levels`, by the model of each event's fold.

        Every event needs its fold: what no model has seen is transformed by a mean, which has no
        inverse of its own.

        Args:
            levels: values of the new score, from 0 to 1.
            protected: the attributes of the same events, as in the fit.
            fold: (n,) the fold of each event, from 0 on; -1 for one that no model has seen.
            event: (n,) the number of each event instead of its fold.
        """
        self._check_has("inverse_transform")
        columns, _, marked = self._check(levels, self._first._along(protected), "levels")
        folds = fold_of_each(len(self.models_), len(columns), fold, event)
        if new := int((folds == NEW).sum()):
            raise ValueError(
                f"{new:,} of {len(folds):,} events have no fold, so transform is the mean of "
                f"{len(self.models_)} maps for them, which has no inverse; pass event= or fold=, "
                "or take one of models_"
            )
        given = columns[:, 0] if is_one_column(levels) else columns
        table = self._table(protected)
        return self._by_fold(
            lambda model, rows: model.inverse_transform(given[rows], table[rows]), folds, marked
        )

    def move(
        self,
        scores: ArrayLike,
        protected: Any,
        *,
        to: Any,
        amount: float = 1.0,
        fold: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> Floats:
        """Return the scores with the attributes elsewhere, by the model of each event's fold.

        A reference beyond the range of all events follows `outside`.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
            to: where to, as `Decorrelator.move` has it.
            amount: how far, from 0 to 1.
            fold: (n,) the fold of each event, from 0 on; -1 for one that no model has seen.
            event: (n,) the number of each event instead of its fold.
        """
        moved = self._elsewhere(to, amount)
        return moved.transform(scores, protected, fold=fold, event=event)

    def _elsewhere(self, to: Any, amount: float) -> CrossFit:
        check_is_fitted(self)
        other = copy.copy(self)
        other.__dict__.pop("_silent_models", None)
        other.models_ = [model._elsewhere(to, amount) for model in self.models_]
        return other

    @property
    def ending(self) -> str:  # type: ignore[override]
        """What the name of its scores ends in."""
        return str(self.models_[0].ending)

    @property
    def n_scores_(self) -> int:
        """How many scores, or features of a classifier, the fit had."""
        return int(self.models_[0].n_scores_)

    @property
    def attributes_(self) -> ProtectedAttributes:  # type: ignore[override]
        """The protected attributes of all events."""
        return joined(self.models_)

    @cached_property
    def _silent_models(self) -> list[Any]:
        """The models, without a word on what is outside: that is ours to say."""
        return [silent(model) for model in self.models_]

    @property
    def _first(self) -> Decorrelator:
        return first_of(self.models_[0])

    def _check_has(self, method: str) -> None:
        check_is_fitted(self)
        of = self.models_[:1]
        for part in models_of(of) if method == "inverse_transform" else of:
            if not hasattr(part, method):
                kind = type(part).__name__
                raise TypeError(f"{kind} has no {method}, so neither has a CrossFit of it")

    def _table(self, protected: Any) -> Columns:
        """Return the protected columns under the names of the fit."""
        names = list(self._first.protected_inputs_)
        return Columns(zip(names, in_order_of(names, protected), strict=True))

    def _check_models(self) -> bool:
        """Refuse what cannot be fitted in folds; return whether a classifier comes first."""
        if not isinstance(self.decorrelator, Decorrelator):
            raise TypeError(
                f"decorrelator is a {type(self.decorrelator).__name__}; expected a decorrelator "
                "such as SplineDecorrelator(), or classifier.then(decorrelator); a "
                "TableDecorrelator goes around the CrossFit"
            )
        first, *others = models_of([self.decorrelator])
        for step in others:
            if not isinstance(step, Decorrelator):
                raise ValueError(
                    f"a {type(step).__name__} stands behind a {type(first).__name__}; expected it "
                    "first in the chain, to be trained on the other folds"
                )
        classifier = not isinstance(first, Decorrelator)
        least = 3 if classifier else 2  # the classifier and its map share no events
        whole_number(self.folds, "folds", least)
        return classifier

    def _background(self, label: ArrayLike | None, total: int, classifier: bool) -> Mask:
        """Return which events are background."""
        if label is None:
            if classifier:
                raise ValueError(
                    "the chain begins with a classifier, which is trained on the other folds; pass "
                    "the classes of all events as label=, or cross-fit the decorrelator alone on "
                    "the scores of a classifier that has not seen these events"
                )
            return np.ones(total, dtype=bool)
        labels = as_array(label, "label")
        if labels.ndim != 1:
            raise ValueError(f"label has shape {labels.shape}; expected one class for each event")
        same_length(total, label=len(labels))
        return np.asarray(labels == np.unique(labels)[0])

    def _by_fold(
        self,
        answer: Callable[[Any, NDArray[np.intp]], Floats],
        fold: NDArray[np.int64],
        marked: Mask,
    ) -> Floats:
        """Return the answer of the model of each event's fold, the mean of all for a new one."""
        answers = []
        for k, model in enumerate(self._silent_models):
            rows = np.flatnonzero((fold == k) | (fold == NEW))
            answers.append((rows, answer(model, rows)))
        shape = len(fold), *answers[0][1].shape[1:]
        out, low, high = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
        for rows, values in answers:
            out[rows] += values
            low[rows], high[rows] = np.minimum(low[rows], values), np.maximum(high[rows], values)
        out[fold == NEW] /= len(self.models_)
        # Rounded, the mean of equal numbers may be another one.
        out = np.clip(out, low, high)
        out[marked] = np.nan
        return out

    def _choice(
        self, graph: Graph, answers: Sequence[list[Value]], fold: Value, protected: list[Value]
    ) -> list[Value]:
        """Return `transform` as steps of a graph, from those of the models."""
        along = self._first._along_graph(graph, protected)
        _, mark = self.attributes_.graph(graph, along, self.outside)
        if self.models_[0]._nowhere(self.attributes_, self.outside):
            mark = graph.constant(np.nan)
        flat = []
        for columns in zip(*answers, strict=True):
            chosen = sum(columns[1:], start=columns[0]) / len(columns)
            for k, column in enumerate(columns):
                chosen = graph.where(fold.equals(float(k)), column, chosen)
            flat.append(chosen if mark is None else chosen + mark)
        return flat

    def _state(self) -> tuple[Arrays, Json]:
        arrays, models = packed_all(self.models_, "fold")
        return arrays, {
            "parameters": {"decorrelator": None, "folds": len(models)},
            "models": models,
            "outside": self.outside,
            "protected": self.attributes_.state()[1],
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.models_ = unpacked_all(arrays, metadata["models"], "fold")
        self.outside = metadata["outside"]
        self.decorrelator = clone(self.models_[0])
