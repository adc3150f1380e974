"""Data beside simulation: the same cuts on both."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unsculpt.decorrelators.common.judgement import CELLS
from unsculpt.inputs import (
    Floats,
    as_array,
    in_order_of,
    numbers,
    protected_columns,
    same_length,
    weight_column,
)
from unsculpt.metrics import Ideal, Interval, TooFewEventsError
from unsculpt.metrics.independence import FlatnessTest
from unsculpt.metrics.separation import highest_cuts
from unsculpt.plots.axis import Axis
from unsculpt.plots.beside import Beside, beside
from unsculpt.plots.in_bins import binomial_error, effective_events
from unsculpt.plots.spectrum import Spectrum
from unsculpt.report.cuts import fraction
from unsculpt.report.events import Events, rows
from unsculpt.report.picture import Picture, Table
from unsculpt.report.words import bare, with_error

Sample = tuple[Axis, Floats, Floats]
"""An attribute, the decorrelated score and the weights of events."""

KEPT = (0.5, 0.1, 0.01)  # of the simulated background
BINS = 20


@dataclass(frozen=True)
class Data:
    """Events of data, for which nobody knows what they are.

    Attributes:
        score: the decorrelated one of the main model.
        protected: the attributes, as the model takes them.
        weight: of the events.
        notes: what the reader should know.
    """

    score: Floats
    protected: Any
    weight: Floats
    notes: list[str]

    @classmethod
    def prepare(cls, events: Events, given: Sequence[Any]) -> Data:
        """Decorrelate data, (scores, protected) or these and weights, as new events."""
        if not isinstance(given, Sequence) or not 2 <= len(given) <= 3:
            raise ValueError("data holds scores and protected attributes, and weights if they vary")
        raw = numbers(as_array(given[0], "data"), "scores of data")
        same_length(len(raw), "scores of data", protected=len(protected_columns(given[1])[1][0]))
        weight = weight_column(given[2] if len(given) > 2 else None, len(raw), "scores of data")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            score = events.model.transform(raw, given[1])
        known = np.flatnonzero(np.isfinite(score) & (weight != 0))
        if not weight[known].sum() > 0:
            raise ValueError(
                f"{len(known):,} of {len(raw):,} events of data have a decorrelated score, and "
                f"their weights sum to {weight[known].sum():g}; expected a positive total"
            )
        notes = [f"data: {text}" for text in dict.fromkeys(str(w.message) for w in caught)]
        return cls(score[known], rows(given[1], known), weight[known], notes)


def data_pictures(events: Events, data: Data) -> Iterator[Picture]:
    """Compare spectra and efficiencies in data and simulated background, for every attribute."""
    background = np.flatnonzero(events.labels == 0)
    weight = (np.ones(len(events.labels)) if events.weight is None else events.weight)[background]
    score = events.scores[events.main][background]
    cuts = highest_cuts(score, weight, np.array(KEPT))
    names = protected_columns(events.protected)[0]
    columns = in_order_of(names, data.protected)
    axes = [axis.at_most(BINS) for axis in events.axes]
    of_data = [_of_data(*pair) for pair in zip(axes, columns, strict=True)]
    overall = _overall(data, of_data, cuts, score, weight)
    for i, (axis, its_data) in enumerate(zip(axes, of_data, strict=True)):
        simulation = replace(axis, values=axis.values[background])
        samples = (simulation, score, weight), (its_data, data.score, data.weight)
        ending = f"-{i + 1}" if i else ""
        yield _spectra(events.main, samples, cuts, ending)
        yield _efficiencies(events.main, samples, cuts, ending, [] if i else [overall])


def _of_data(axis: Axis, column: Any) -> Axis:
    """Return an axis with the values of data; a category that was not simulated has no bin."""
    values = np.asarray(column)
    if axis.categories:
        place = {name: i for i, name in enumerate(axis.categories)}
        values = np.array([place.get(name, -1) for name in values.astype(str)])
    return replace(axis, values=values.astype(float))


def _spectra(main: str, samples: Sequence[Sample], cuts: Floats, ending: str) -> Picture:
    axis = samples[0][0]

    def shares(cut: float) -> Beside:
        return Beside(
            *(
                Spectrum.of_events(own.values[score >= cut], own.edges, w[score >= cut]).interval
                for own, score, w in samples
            )
        )

    panels = {"before any cut": shares(-np.inf)} | {
        _kept(kept): shares(cut) for kept, cut in zip(KEPT[:2], cuts, strict=False)
    }
    return Picture(
        f"data-spectrum{ending}",
        f"Data and simulation: {bare(axis.name)}",
        f"The spectrum of data (points) on that of simulated background (line, with its error), "
        f"before any cut and after cuts on the {main}, each normalised to one; below, the ratio. "
        "If simulation describes what the cut does, the ratio after it is that before it.",
        beside(panels, axis, "fraction of events", log=True),
        [_table(panels, axis)],
    )


def _efficiencies(
    main: str, samples: Sequence[Sample], cuts: Floats, ending: str, more: list[Table]
) -> Picture:
    axis = samples[0][0]

    def share(axis: Axis, score: Floats, weight: Floats, cut: float) -> Interval[Floats]:
        passing = score >= cut
        kept, total = (
            Spectrum.of_events(axis.values[x], axis.edges, weight[x]).content
            for x in (passing, np.ones(len(passing), dtype=bool))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(total > 0, kept / total, np.nan)
        every = effective_events(axis, np.ones(len(passing), dtype=bool), weight)
        error = binomial_error(value, every)
        return Interval(value, value - error, value + error)

    panels = {
        _kept(kept): Beside(*(share(*own, cut) for own in samples))
        for kept, cut in zip(KEPT, cuts, strict=True)
    }
    return Picture(
        f"data-efficiency{ending}",
        f"Data and simulation: efficiency against {bare(axis.name)}",
        f"The share that passes a cut on the {main} at each {bare(axis.name)}, in data (points) "
        "and in simulated background (line, with its error), and the ratio. The cuts keep "
        f"{', '.join(f'{100 * kept:g}%' for kept in KEPT)} of the simulated background; signal in "
        "data is part of data. The first table has the shares of all events, and whether the cut "
        "is flat in data."
        if more
        else f"The same against {bare(axis.name)}.",
        beside(panels, axis, "efficiency"),
        [*more, _table(panels, axis)],
    )


def _overall(
    data: Data, axes: Sequence[Axis], cuts: Floats, score: Floats, weight: Floats
) -> Table:
    """Write how much of data passes, beside simulation, and whether that is flat."""
    table = Table(
        ["simulated background kept", "data kept", "data / simulation", "data: χ² / degrees", "p"],
        [],
    )
    test = FlatnessTest(
        {
            axis.name: np.array([*axis.categories, "not simulated"])[axis.values.astype(int)]
            if axis.categories
            else axis.values
            for axis in axes
        },
        data.weight,
    )
    for cut in cuts:
        own, other = fraction(data.score >= cut, data.weight), fraction(score >= cut, weight)
        ratio = own.mean / other.mean if other.mean > 0 else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            error = ratio * np.hypot(own.spread / own.mean, other.spread / other.mean)
        row = [" ".join(with_error(x)) for x in (other, own, Ideal(ratio, float(error)))]
        try:
            judged = test(data.score >= cut, CELLS)
            row += [f"{judged.chi2:.1f} / {judged.degrees}", judged.chance.removeprefix("p = ")]
        except TooFewEventsError:
            row += ["too few events", ""]
        table.rows.append(row)
    return table


def _table(panels: Mapping[str, Beside], axis: Axis) -> Table:
    columns = {
        f"{what}, {title}": values
        for title, own in panels.items()
        for what, values in {**own._asdict(), "ratio": own.ratio}.items()
    }
    return Table.from_columns(axis.name, axis.bins(), columns)


def _kept(share: float) -> str:
    return f"{100 * share:g}% kept"
