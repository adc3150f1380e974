"""The figures of a report, each with its words and its numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from unsculpt import plots
from unsculpt.decorrelators import Decorrelator
from unsculpt.inputs import Floats
from unsculpt.plots.axis import Axis
from unsculpt.plots.efficiency import WORKING_POINTS, background_efficiencies
from unsculpt.plots.in_bins import Curves
from unsculpt.plots.score_slices import background_slices
from unsculpt.plots.separation import separation_in_bins
from unsculpt.plots.spectrum import background_spectra
from unsculpt.report.events import Events, along_first, losses
from unsculpt.report.words import bare, number


@dataclass(frozen=True)
class Table:
    """What a figure shows, in numbers: the first column names the rows."""

    header: list[str]
    rows: list[list[str]]

    @classmethod
    def from_columns(
        cls, first: str, names: Sequence[str], columns: Mapping[str, ArrayLike]
    ) -> Table:
        """Write columns of numbers beside the names of their rows."""
        cells = [[number(x) for x in np.asarray(column)] for column in columns.values()]
        rows = [[name, *row] for name, *row in zip(names, *cells, strict=True)]
        return cls([first, *columns], rows)


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files, its heading and what one sees in it."""

    slug: str
    title: str
    caption: str
    figure: Figure
    tables: list[Table]


def pictures(
    events: Events, model: Decorrelator, protected: Any, labels: ArrayLike, efficiency: float
) -> Iterator[Picture]:
    """Draw the figures of the report, one after the other."""
    endings = ["", *(f"-{i}" for i in range(2, len(events.axes) + 1))]
    for axis, ending in zip(events.axes, endings, strict=True):
        yield _spectrum(events, axis, f"spectrum{ending}", efficiency)
    for axis, ending in zip(events.axes, endings, strict=True):
        yield _efficiency(events, axis.with_bins(20), f"efficiency{ending}")
    yield _slices(events, events.axes[0])
    yield _separation(events, events.axes[0].with_bins(20), efficiency)
    values, table = along_first(protected, labels, events.axes[0])
    if cuts := _known_cuts(model, table):
        yield _cut(events.axes, values, cuts)
    if training := losses(model):
        yield _history(training)


def _spectrum(events: Events, axis: Axis, slug: str, efficiency: float) -> Picture:
    given: dict[str, Any] = {"efficiency": efficiency, "sample_weight": events.weight}
    spectra = background_spectra(events.scores, events.labels, axis, **given)
    columns = {f"share, {label}": spectrum.shares for label, spectrum in spectra.items()}
    return Picture(
        slug,
        f"Spectrum of {bare(axis.name)}",
        f"The background's {bare(axis.name)} before any cut (grey) and after cuts that keep "
        f"{efficiency:.0%} of the signal, each normalised to one; below, the ratio to grey. A cut "
        "that does not sculpt leaves the ratio at one.",
        plots.spectrum(events.scores, events.labels, axis, **given),
        [Table.from_columns(axis.name, axis.bins(), columns)],
    )


def _efficiency(events: Events, axis: Axis, slug: str) -> Picture:
    settings: dict[str, Any] = {"sample_weight": events.weight}
    panels = background_efficiencies(events.scores, events.labels, axis, **settings)
    points = ", ".join(f"{point:.0%}" for point in WORKING_POINTS)
    return Picture(
        slug,
        f"Efficiency against {bare(axis.name)}",
        f"How much background passes at each {bare(axis.name)}, for cuts that keep {points} of "
        "all background (dotted). Where a cut does not sculpt, its points lie on its dotted line.",
        plots.efficiency(events.scores, events.labels, axis, **settings),
        [_table(panels, axis)],
    )


def _slices(events: Events, axis: Axis) -> Picture:
    settings: dict[str, Any] = {"sample_weight": events.weight}
    tables = []
    for name, edges, densities in background_slices(events.scores, events.labels, axis, **settings):
        ranges = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]
        columns = {f"density, {axis.name} {where}": values for where, values in densities.items()}
        tables.append(Table.from_columns(name, ranges, columns))
    return Picture(
        "scores",
        f"Scores in slices of {bare(axis.name)}",
        f"The background's distribution of each score in slices of {bare(axis.name)}. One "
        "that is decorrelated at every cut looks the same in all of them.",
        plots.score_slices(events.scores, events.labels, axis, name=axis.name, **settings),
        tables,
    )


def _separation(events: Events, axis: Axis, efficiency: float) -> Picture:
    given: dict[str, Any] = {"efficiency": efficiency, "sample_weight": events.weight}
    panels = separation_in_bins(events.scores, events.labels, axis, **given)
    return Picture(
        "separation",
        f"Separation in bins of {bare(axis.name)}",
        "Area under the ROC curve; background rejection and signal efficiency of one cut that "
        f"keeps {efficiency:.0%} of all signal. Bins without signal have no AUC, and bins where "
        "no background passes no finite rejection.",
        plots.separation(events.scores, events.labels, axis, **given),
        [_table(panels, axis)],
    )


def _known_cuts(model: Any, table: Any) -> dict[str, Floats]:
    """Return the cuts on the raw score; some methods know none, or those of their fit alone."""
    cuts = {}
    for point in sorted({*WORKING_POINTS, getattr(model, "efficiency_", 0.5)}, reverse=True):
        with warnings.catch_warnings():  # of values beyond the fit: the events have counted them
            warnings.simplefilter("ignore")
            with suppress(AttributeError, TypeError, ValueError):
                cuts[f"{100 * point:g}%"] = model.threshold(point, table)
    return cuts


def _cut(axes: list[Axis], values: NDArray[Any], cuts: dict[str, Floats]) -> Picture:
    axis = axes[0]
    others = ", with the other attributes at their median" if len(axes) > 1 else ""
    names = [str(x) if axis.categories else number(x) for x in values]
    step = 1 if axis.categories else 5
    columns = {f"cut for {point}": cut[::step] for point, cut in cuts.items()}
    return Picture(
        "cut",
        f"The learned cut against {bare(axis.name)}",
        "Where the raw score is to be cut to keep the same fraction of the background at every "
        f"{bare(axis.name)}, as the model learned it{others}.",
        plots.cut(cuts, names if axis.categories else values, name=axis.name, score="raw score"),
        [Table.from_columns(axis.name, names[::step], columns)],
    )


def _history(training: dict[str, Any]) -> Picture:
    columns = {
        f"{name} loss": loss.reshape(len(loss), -1).mean(1) for name, loss in training.items()
    }
    epochs = [str(i + 1) for i in range(len(next(iter(columns.values()))))]
    return Picture(
        "training",
        "Training history",
        "The loss after each epoch: the mean in bold, the members of the ensemble faint.",
        plots.history(training),
        [Table.from_columns("epoch", epochs, columns)],
    )


def _table(panels: Mapping[str, Curves], axis: Axis) -> Table:
    columns = {
        f"{title}, {label}": curve.value
        for title, curves in panels.items()
        for label, curve in curves.items()
    }
    return Table.from_columns(axis.name, axis.bins(), columns)
