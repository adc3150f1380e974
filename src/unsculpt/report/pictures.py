"""The figures of a report, each with its words and its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt import plots
from unsculpt.inputs import Floats
from unsculpt.metrics import Interval
from unsculpt.plots.axis import Axis
from unsculpt.plots.efficiency import WORKING_POINTS, background_efficiencies, draw_efficiencies
from unsculpt.plots.in_bins import Curves
from unsculpt.plots.plane import background_cells, draw_plane, equal_shares
from unsculpt.plots.residuals import WORKING_POINTS as RESIDUALS_AT
from unsculpt.plots.residuals import background_residuals, draw_residuals
from unsculpt.plots.score_slices import background_slices, draw_score_slices
from unsculpt.plots.separation import draw_separation, separation_in_bins
from unsculpt.plots.spectrum import background_spectra, draw_spectrum
from unsculpt.report.events import Events, along_first, losses
from unsculpt.report.map_error import MapError, knows_its_error, map_errors, quietly
from unsculpt.report.picture import Picture, Table
from unsculpt.report.spurious import spurious_signal
from unsculpt.report.trade_off import trade_off
from unsculpt.report.words import bare, number

IN_PLANE = 0.1  # of the background passes


def pictures(events: Events, efficiency: float, score_name: str = "score") -> Iterator[Picture]:
    """Draw the figures of the report, one after the other."""
    model = events.model
    endings = ["", *(f"-{i}" for i in range(2, len(events.axes) + 1))]
    for axis, ending in zip(events.axes, endings, strict=True):
        yield _spectrum(events, axis, f"spectrum{ending}", efficiency)
    errors = map_errors(events, model, RESIDUALS_AT)
    for axis, ending in zip(events.axes, endings, strict=True):
        yield _residuals(events, axis.at_most(20), f"residuals{ending}", errors)
    yield _efficiency(events, events.axes[0].at_most(20), "efficiency")
    if picture := spurious_signal(events, efficiency):
        yield picture
    continuous = [axis for axis in events.axes if not axis.categories]
    if len(continuous) > 1:
        yield _plane(events, continuous[0], continuous[1])
    yield _slices(events, events.axes[0], f"raw {score_name}")
    if events.has_signal:
        yield _separation(events, events.axes[0].at_most(20), efficiency)
    if picture := trade_off(events, efficiency):
        yield picture
    values, table = along_first(events)
    if cuts := _known_cuts(model, table):
        yield _cut(events.axes, values, cuts, f"raw {score_name}")
    if training := losses(model):
        yield _history(training)


def _spectrum(events: Events, axis: Axis, slug: str, efficiency: float) -> Picture:
    given: dict[str, Any] = {"efficiency": efficiency, "sample_weight": events.weight}
    spectra = background_spectra(events.scores, events.labels, axis, **given)
    title = f"background after a cut at {efficiency:.0%} {events.cut_on} efficiency"
    columns = {f"share, {label}": spectrum.interval for label, spectrum in spectra.items()}
    return Picture(
        slug,
        f"Spectrum of {bare(axis.name)}",
        f"The background's {bare(axis.name)} before any cut (grey) and after cuts that keep "
        f"{efficiency:.0%} of the {events.cut_on}, each normalised to one; below, the ratio to "
        "grey. A cut that does not sculpt leaves the ratio at one.",
        draw_spectrum(spectra, axis, title),
        [Table.from_columns(axis.name, axis.bins(), columns)],
    )


def _residuals(events: Events, axis: Axis, slug: str, errors: Sequence[MapError]) -> Picture:
    panels = background_residuals(events.scores, events.labels, axis, sample_weight=events.weight)
    bands = [error.in_bins(axis) for error in errors]
    table = _table(
        panels,
        axis,
        {f"{title}, error of the map": band for title, band in zip(panels, bands, strict=False)},
    )
    of = f" of the {events.main}" if len(events.models) > 1 else ""
    shade = f"The shaded band is the error of the map itself{of}, as the model knows it. "
    return Picture(
        slug,
        f"Residuals against {bare(axis.name)}",
        f"The share of the background that passes at each {bare(axis.name)}, over the share of "
        "all background, with the statistical error of these events. One is flat. "
        f"{shade if bands else ''}The scale is that of the {events.main}; arrows stand for "
        "what is beyond.",
        draw_residuals(panels, axis, bands, events.main),
        [table],
    )


def _efficiency(events: Events, axis: Axis, slug: str) -> Picture:
    panels = background_efficiencies(
        events.scores, events.labels, axis, sample_weight=events.weight
    )
    points = ", ".join(f"{point:.0%}" for point in WORKING_POINTS)
    return Picture(
        slug,
        f"Efficiency against {bare(axis.name)}",
        f"How much background passes at each {bare(axis.name)}, for cuts that keep {points} of "
        "all background (dotted). Where a cut does not sculpt, its points lie on its dotted line.",
        draw_efficiencies(panels, axis, WORKING_POINTS),
        [_table(panels, axis)],
    )


def _plane(events: Events, first: Axis, second: Axis) -> Picture:
    background = events.labels == 0
    # So many that some tens of events are expected to pass in each cell.
    bins = int(np.clip((background.sum() * IN_PLANE / 40) ** 0.5, 2, 10))
    first, second = (equal_shares(axis, events.labels, bins) for axis in (first, second))
    cells = background_cells(events.scores, events.labels, first, second, events.weight, IN_PLANE)
    return Picture(
        "plane",
        f"{bare(first.name)} and {bare(second.name)} together",
        f"A cut that keeps {IN_PLANE:.0%} of all background: by how many statistical errors the "
        f"share that passes in each cell of {bare(first.name)} and {bare(second.name)} is above "
        "(red) or below (blue) that of all. Where the score is flat, colours are weak and have no "
        "pattern. The table has the ratios.",
        draw_plane(cells, first, second),
        [
            Table.from_columns(
                f"{label}: {first.name}",
                first.bins(),
                {
                    f"{second.name} {where}": Interval(*(x[:, i] for x in ratio))
                    for i, where in enumerate(second.bins())
                },
            )
            for label, ratio in cells.items()
        ],
    )


def _slices(events: Events, axis: Axis, raw: str) -> Picture:
    scores = {raw if name == "raw score" else name: x for name, x in events.scores.items()}
    slices = background_slices(scores, events.labels, axis, sample_weight=events.weight)
    tables = []
    for name, edges, densities in slices:
        ranges = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]
        columns = {f"density, {axis.name} {where}": values for where, values in densities.items()}
        tables.append(Table.from_columns(name, ranges, columns))
    return Picture(
        "scores",
        f"Scores in slices of {bare(axis.name)}",
        f"The background's distribution of each score in slices of {bare(axis.name)}. One "
        "that is decorrelated at every cut looks the same in all of them.",
        draw_score_slices(slices, axis.name),
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
        draw_separation(panels, axis),
        [_table(panels, axis)],
    )


def _known_cuts(model: Any, table: Any) -> dict[str, Interval[Floats]]:
    """Return the cuts on the raw score; some methods know none, or those of their fit alone."""
    cuts = {}
    for point in sorted({*WORKING_POINTS, getattr(model, "efficiency_", 0.5)}, reverse=True):
        with quietly():
            cut = model.threshold(point, table)
            cuts[f"{100 * point:g}%"] = Interval(cut, *_ends(model, cut, point, table))
    return cuts


def _ends(model: Any, cut: Floats, point: float, table: Any) -> tuple[Floats, Floats]:
    """Return the cuts if the map is off by its error either way; NaN if it does not know."""
    if not knows_its_error(model):
        return np.full(len(cut), np.nan), np.full(len(cut), np.nan)
    with quietly():
        error = model.uncertainty(cut, table)
        low, high = (np.clip(1 - point + sign * error, 0, 1) for sign in (-1, 1))
        return model.inverse_transform(low, table), model.inverse_transform(high, table)
    return np.full(len(cut), np.nan), np.full(len(cut), np.nan)


def _cut(
    axes: list[Axis], values: NDArray[Any], cuts: dict[str, Interval[Floats]], raw: str
) -> Picture:
    axis = axes[0]
    others = ", with the other attributes at their median" if len(axes) > 1 else ""
    names = [str(x) if axis.categories else number(x) for x in values]
    step = 1 if axis.categories else 5
    columns = {
        f"cut for {point}": Interval(*(x[::step] for x in cut)) for point, cut in cuts.items()
    }
    values = np.array(names) if axis.categories else values
    middle = {point: cut.value for point, cut in cuts.items()}
    return Picture(
        "cut",
        f"The learned cut against {bare(axis.name)}",
        "Where the raw score is to be cut to keep the same fraction of the background at every "
        f"{bare(axis.name)}, as the model learned it{others}.",
        plots.cut(middle, values, name=axis.name, score=raw),
        [Table.from_columns(axis.name, names[::step], columns)],
    )


def _history(training: dict[str, Any]) -> Picture:
    columns = {
        f"{name} loss": _mean(loss.reshape(len(loss), -1)) for name, loss in training.items()
    }
    epochs = [str(i + 1) for i in range(len(next(iter(training.values()))))]
    return Picture(
        "training",
        "Training history",
        "The loss after each epoch: the mean in bold, the members of the ensemble faint. "
        "In the table ± is their spread.",
        plots.history(training),
        [Table.from_columns("epoch", epochs, columns)],
    )


def _mean(members: Floats) -> Interval[Floats] | Floats:
    """Return the mean of the members of an ensemble with their spread; one alone has none."""
    mean, spread = members.mean(axis=1), members.std(axis=1)
    return Interval(mean, mean - spread, mean + spread) if members.shape[1] > 1 else mean


def _table(
    panels: Mapping[str, Curves], axis: Axis, more: Mapping[str, Floats] | None = None
) -> Table:
    columns = {
        f"{title}, {label}": curve
        for title, curves in panels.items()
        for label, curve in curves.items()
    }
    return Table.from_columns(axis.name, axis.bins(), {**columns, **(more or {})})
