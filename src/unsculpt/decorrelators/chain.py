"""Models on top of one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.efficiencies import at_each
from unsculpt.decorrelators.common.outside import STRICTEST_FIRST, Outside
from unsculpt.inputs import Floats, count_events, event_weights, with_weight
from unsculpt.saving import Arrays, Json, Model, packed_all, unpacked_all

Action = Callable[[Any], ArrayLike]


class Chain(Decorrelator):
    """Apply models one after the other; fit, save and load them as one.

    `first.then(second)` makes one. A step is a decorrelator, or a fitted `Classifier`, whose
    signal probability (all probabilities, if there are several signal classes) goes to the next.

    Args:
        steps: the models, in the order of their use. They are fitted in place.

    >>> from unsculpt import FlowDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> coarse, fine = FlowDecorrelator(members=1, epochs=2), FlowDecorrelator()
    >>> flat = coarse.then(fine).fit(toy.score, toy.protected).transform(toy.score, toy.protected)
    >>> bool(flat.min() >= 0 and flat.max() <= 1)
    True
    """

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    def then(self, second: Any) -> Chain:
        """Return a longer chain; a chain on top adds its steps.

        Args:
            second: the decorrelator or the chain to put on top.
        """
        from unsculpt.decorrelators.crossfit import CrossFit

        for step in (*self.steps, second):
            if isinstance(step, CrossFit):
                raise TypeError(
                    "then got CrossFit, whose models must not see what is on top of them either; "
                    "put it around the whole chain: CrossFit(first.then(second))"
                )
            classifies = isinstance(step, Model) and hasattr(step, "predict_proba")
            if not isinstance(step, Decorrelator) and not classifies:
                raise TypeError(
                    f"then got {type(step).__name__}; expected a decorrelator or a Classifier of "
                    "unsculpt. For a model of another library, fit a decorrelator on its scores; a "
                    "TableDecorrelator goes around the whole chain"
                )
        return Chain([*self.steps, *(second.steps if isinstance(second, Chain) else [second])])

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit every decorrelator on what the steps before it give for these background events.

        A classifier needs more than background to learn: it is taken as it is.

        Args:
            scores: what the first step takes: scores, or features of a classifier.
            protected: the attributes of these events: (n,), (n, a) or a table.
            sample_weight: (n,), negative weights included.
        """
        self._check_steps()
        models = models_of(self.steps)
        fitted = [copy(model) for model in models]
        if sample_weight is not None:  # events of weight zero are none, for any step
            weight = event_weights(sample_weight, count_events(protected), "protected")
            rows, protected, sample_weight = with_weight(np.arange(len(weight)), protected, weight)
            scores = _safe_indexing(scores, rows)  # which may be a classifier's table of features
        for model in fitted:
            if isinstance(model, Decorrelator):
                model.fit(scores, protected, sample_weight=sample_weight)
            if model is not fitted[-1]:
                scores = _applied(model, protected, scores)
        # All at once and last, so that an interrupted fit leaves the previous one as it was.
        for model, new in zip(models, fitted, strict=True):
            vars(model).update(vars(new))
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return what the last step makes of the scores, or of the features of a classifier.

        Args:
            scores: what the first step takes.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return _in_turn([partial(_applied, step, protected) for step in self.steps], scores)

    @property
    def ending(self) -> str:  # type: ignore[override]
        """What the name of its scores ends in."""
        return str(getattr(self.steps[-1], "ending", super().ending))

    @property
    def n_scores_(self) -> int:
        """How many scores, or features of a classifier, the first step takes."""
        first = self.steps[0]
        return int(first.n_scores_ if isinstance(first, Decorrelator) else first.n_features_in_)

    def inverse_transform(self, levels: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `levels`.

        Args:
            levels: values of the new score, from 0 to 1.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        return _in_turn(self._inverses(self.steps, protected), levels)

    def threshold(self, efficiency: ArrayLike, protected: Any) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        Of m efficiencies it returns all cuts, along a last axis.

        Args:
            efficiency: the fraction of background to keep, or several of them.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        *before, last = self.steps
        if not hasattr(last, "threshold"):
            raise TypeError(f"{type(last).__name__} has no threshold, so neither has the chain")
        inverses = self._inverses(before, protected)

        def cut(share: float) -> Floats:
            return _in_turn([lambda x: last.threshold(x, protected), *inverses], share)

        return at_each(cut, efficiency)

    def variations(self, n: int) -> list[tuple[Chain, Chain]]:
        """Return the variations of the last step, each on top of the other steps.

        Args:
            n: how many pairs.
        """
        *before, last = self.steps
        if not isinstance(last, Decorrelator):
            raise ValueError(f"a {type(last).__name__} has no variations, so neither has the chain")

        def chain(step: Decorrelator) -> Chain:
            other = Chain([*before, step])
            other.source_ = self.source_
            return other

        return [(chain(up), chain(down)) for up, down in last.variations(n)]

    def _elsewhere(self, to: Any, amount: float) -> Chain:
        """Return the chain with its last step moved: the scores that this step gets, elsewhere."""
        *before, last = self.steps
        if not isinstance(last, Decorrelator):
            raise ValueError(f"a {type(last).__name__} cannot move, so neither can the chain")
        other = Chain([*before, last._elsewhere(to, amount)])
        other.source_ = self.source_
        return other

    def _nowhere(self, attributes: ProtectedAttributes, outside: Outside) -> bool:
        return any(step._nowhere(attributes, outside) for step in self._decorrelators)

    def _inverses(self, steps: Sequence[Any], protected: Any) -> list[Action]:
        for step in steps:
            if not hasattr(step, "inverse_transform"):
                raise TypeError(f"{type(step).__name__} has no inverse, so neither has the chain")
        return [partial(_undone, step, protected) for step in reversed(steps)]

    def _check_steps(self) -> None:
        models = models_of(self.steps)
        if not models:
            raise ValueError("steps is empty; expected at least one model")
        for model in models:
            if not isinstance(model, Decorrelator):
                check_is_fitted(model)
        if len(set(map(id, models))) < len(models):
            raise ValueError(
                "steps holds one model twice, which can be fitted to one input only; make another "
                "with sklearn.base.clone"
            )

    @property
    def outside(self) -> Outside:
        """What becomes of protected values beyond the fitted range, by the strictest step."""
        said: set[Outside] = {step.outside for step in self._decorrelators}
        return next((outside for outside in STRICTEST_FIRST if outside in said), "clip")

    @outside.setter
    def outside(self, outside: Outside) -> None:
        for step in self._decorrelators:
            step.outside = outside

    @property
    def _decorrelators(self) -> list[Decorrelator]:
        return [step for step in self.steps if isinstance(step, Decorrelator)]

    def __copy__(self) -> Chain:
        """Return another with steps of its own: `outside` is that of the steps."""
        other = Chain([copy(step) for step in self.steps])
        other.source_ = self.source_
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.steps) and all(_is_fitted(step) for step in self.steps)

    def _state(self) -> tuple[Arrays, Json]:
        arrays, steps = packed_all(self.steps, "step")
        return arrays, {"parameters": {"steps": []}, "steps": steps}

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.steps = unpacked_all(arrays, metadata["steps"], "step")


def models_of(steps: Sequence[Any]) -> list[Any]:
    """Return the models of a chain, with those of the chains among its steps."""
    return [
        model
        for step in steps
        for model in (models_of(step.steps) if isinstance(step, Chain) else [step])
    ]


def _in_turn(actions: Sequence[Action], values: Any) -> Floats:
    """Apply one after the other; what one marks with NaN, the next passes on."""
    first, *others = actions
    out = np.asarray(first(values))
    for action in others:
        marked = np.isnan(out).any(axis=tuple(range(1, out.ndim)))
        # Any number may stand in; where probabilities are expected, they have to sum to one.
        even = 1 / np.prod(out.shape[1:])
        out = np.where(marked.reshape(-1, *[1] * (out.ndim - 1)), even, out)
        out = np.array(action(out))
        out[marked] = np.nan
    return out


def _undone(step: Any, protected: Any, levels: ArrayLike) -> ArrayLike:
    undone: Floats = step.inverse_transform(levels, protected)
    return undone


def _applied(step: Any, protected: Any, scores: ArrayLike) -> ArrayLike:
    if isinstance(step, Decorrelator):
        return step.transform(scores, protected)
    probabilities: Floats = step.predict_proba(scores)
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def _is_fitted(step: Any) -> bool:
    try:
        check_is_fitted(step)
    except ValueError:  # scikit-learn's NotFittedError is one
        return False
    return True
