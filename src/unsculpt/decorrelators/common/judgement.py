"""Tests of a cut on a new score: flat within the statistics of events, or the error of the map."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics import Flatness
from unsculpt.metrics.independence import Deviations, FlatnessTest

CELLS = 50  # of the attributes, in each fold
FOLD = "CrossFit fold"  # what a test calls it beside the attributes
EVENTS = 2_000  # at which the error of the map is looked up: it changes slowly
TINY = 1e-9  # a cut that keeps nothing or everything is none


class Judgement(NamedTuple):
    """The test of a cut.

    Attributes:
        statistics: within the statistics of the events.
        with_map: within these and the error of the map together; None if the statistics alone
            explain it, or if that error is not known.
    """

    statistics: Flatness
    with_map: Flatness | None = None

    @property
    def flat(self) -> bool:
        """Whether the statistics of the events explain it."""
        return self.statistics.flat

    @property
    def within_map(self) -> bool:
        """Whether they do not, but do together with the error of the map."""
        return not self.flat and self.with_map is not None and self.with_map.flat

    def line(self, events: int) -> str:
        """Return one line that a reader can act on, about a test on so many events."""
        if self.with_map is None:
            return self.statistics.verdict(events)
        if not self.with_map.flat:
            chance = self.with_map.chance
            return f"{self.statistics.verdict(events)}; with the error of the map {chance}"
        return (
            f"flat within the error of the map ({self.with_map.numbers}), but not within the "
            f"statistics of {events:,} events ({self.statistics.numbers}): fit on more background "
            "to do better"
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        with_map = None if self.with_map is None else self.with_map._asdict()
        return self.statistics._asdict() | {"with_map": with_map}


def only_cut(model: Any) -> float | None:
    """Return the one cut on its new score that a model is made for; None if it is for all.

    Neighbours know one cut, which their scores have at zero.
    """
    return 0.0 if hasattr(getattr(model, "models_", [model])[0], "efficiency_") else None


class CutTest:
    """Tests cuts on scores of the same background events, whose attributes are divided once.

    With folds, at all attributes in each of them: what is too high in one fold is too low in the
    models of the others, so together they look better than they are.

    Args:
        attributes: columns by the names that a verdict uses.
        protected: the same as a model takes them, a table or an array.
        weight: of the events.
        fold: of each event.
    """

    def __init__(
        self,
        attributes: Mapping[str, NDArray[Any]],
        protected: Any,
        weight: Floats | None = None,
        fold: ArrayLike | None = None,
    ) -> None:
        self.protected, self.cells = protected, CELLS
        self.fold: NDArray[Any] | None = None
        if fold is not None:
            self.cells *= len(np.unique(fold))
            self.fold = np.asarray(fold)
            attributes = {FOLD: self.fold.astype(str), **attributes}
        # By fold and first attribute, so that every so many are spread over all cells.
        codes = [np.unique(column, return_inverse=True)[1] for column in attributes.values()]
        self.order = np.lexsort(codes[::-1])
        self.test = FlatnessTest(attributes, weight)

    def __call__(self, passing: Mask, model: Any = None, cut: float = 0.0) -> Judgement:
        """Test what passes a cut; where it is not flat, with the error of the map as well.

        Args:
            passing: which of the events pass.
            model: that made the score, if one did. `SplineDecorrelator` knows the error of its map.
            cut: on the new score.
        """
        statistics = self.test(passing, self.cells)
        if statistics.flat or not hasattr(model, "deviations") or model.n_scores_ > 1:
            return Judgement(statistics)
        some = self.order[:: -(-len(self.order) // EVENTS)]
        here = self.protected[some]
        own = {}
        if self.fold is not None and hasattr(model, "models_"):
            own["fold"] = self.fold[some]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = model.threshold(np.clip(1 - cut, TINY, 1 - TINY), here, **own)
            shifts = model.deviations(scores, here, **own)
        return Judgement(statistics, self.test(passing, self.cells, Deviations(some, shifts)))
