"""What the error of a fitted map does to a cut on the decorrelated score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats
from unsculpt.metrics.binning import bin_index, weight_in_bins
from unsculpt.plots.axis import Axis
from unsculpt.report.events import Events, rows

EVENTS = 20_000  # at which it is looked up: it changes slowly


@dataclass(frozen=True)
class MapError:
    """By how much of itself the share that passes may be off, at some of the events."""

    events: NDArray[np.intp]
    relative: Floats

    def in_bins(self, axis: Axis) -> Floats:
        """Return the mean in each bin: neighbours are off together. NaN without events."""
        known = np.isfinite(self.relative)
        where = bin_index(axis.values[self.events[known]], axis.edges)
        sums, counts = (
            weight_in_bins(where, values, len(axis.edges))[:-1]
            for values in (self.relative[known], np.ones(len(where)))
        )
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts)


def knows_its_error(model: Any) -> bool:
    """Return whether a model has a statistical error; networks need replicas for it."""
    one = getattr(model, "models_", [model])[0]  # with folds they are of one kind
    return hasattr(one, "uncertainty") and bool(getattr(one, "replicas_", True))


def map_errors(events: Events, model: Any, efficiencies: Sequence[float]) -> list[MapError]:
    """Return the error at cuts that keep so much background; none if the model knows none.

    A cut lies where the map says. By as much as the map is off there, so is what passes.
    """
    if not knows_its_error(model):
        return []
    background = np.flatnonzero(events.labels == 0)
    some = background[:: -(-len(background) // EVENTS)]
    found = []
    with quietly():
        protected = rows(events.protected, some)
        for point in efficiencies:
            cut = model.threshold(point, protected)
            found.append(MapError(some, model.uncertainty(cut, protected) / point))
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Ask a model for what not every method has: without it nothing is done and nothing said.

    An ensemble of one has no error, some methods know the cut of their fit alone. Of values beyond
    the fit the events have told.
    """
    with warnings.catch_warnings(), suppress(AttributeError, TypeError, ValueError):
        warnings.simplefilter("ignore")
        yield
