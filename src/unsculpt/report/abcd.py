"""The section on the ABCD method: does a count of three regions predict the fourth?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from matplotlib.figure import Figure

from unsculpt.abcd import REGIONS, ClosureMap, closure, closure_map, contamination
from unsculpt.inputs import Floats, protected_columns
from unsculpt.metrics import Ideal
from unsculpt.plots.plane import MOST
from unsculpt.plots.style import styled
from unsculpt.report.events import Events, rows
from unsculpt.report.map_error import quietly
from unsculpt.report.picture import Picture, Table
from unsculpt.report.words import bare, number, with_error

KEPT = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # of the background, by each cut
VARIATIONS = 20  # of the map, for the error it gives a prediction


def abcd_section(events: Events, attribute: str) -> Picture:
    """Show closure with an attribute, which is the first score, and the scores as the second."""
    names, _ = protected_columns(events.protected)
    if attribute not in names:
        raise ValueError(
            f"abcd is {attribute!r}; expected the attribute that is the first score of the two, "
            f"one of {', '.join(names)}"
        )
    axis = events.axes[names.index(attribute)]
    if axis.categories:
        raise ValueError(f"abcd is {attribute!r}, which is a category; expected a score")
    background = events.labels == 0
    weight = None if events.weight is None else events.weight[background]
    maps = {
        name: closure_map(
            axis.values[background], score[background], kept=KEPT, sample_weight=weight
        )
        for name, score in events.scores.items()
    }
    first = bare(axis.name)
    signal = (
        " The share of signal in each region is that of these events and their weights; it raises "
        "what is predicted by the last column."
        if events.has_signal
        else ""
    )
    return Picture(
        "abcd",
        f"ABCD with {first}",
        f"Cuts on {first} and on a score divide the background into A (both pass), B (only {first} "
        "passes), C (only the score passes) and D. If they are independent, A holds B·C/D. "
        "In each cell is the observed over the predicted A, in colour by how many errors they are "
        "apart, for cuts that keep so much of the background each. Neighbours share events. The "
        "first table has what is predicted when both cuts keep the same share: the error is of the "
        f"counts and, where the model knows it, of the map.{signal}",
        _draw(maps, first),
        [_predictions(events, axis.values, maps[events.main]), *map(_ratios, maps, maps.values())],
    )


def _predictions(events: Events, first: Floats, found: ClosureMap) -> Table:
    """Write what the regions say, with the error of the map, when both cuts keep the same."""
    background = np.flatnonzero(events.labels == 0)
    weight = None if events.weight is None else events.weight[background]
    raw, second = events.scores["raw score"], events.scores[events.main]
    pairs: list[tuple[Floats, Floats]] = []
    with quietly():
        protected = rows(events.protected, background)
        pairs = [
            (up.transform(raw[background], protected), down.transform(raw[background], protected))
            for up, down in events.model.variations(VARIATIONS)
        ]
    shares = [f"signal in {region}" for region in REGIONS] if events.has_signal else []
    table = Table(
        ["kept by each cut", "observed in A", "predicted", "ratio", "errors apart", *shares]
        + (["predicted too much"] if events.has_signal else []),
        [],
    )
    for kept, *cuts in zip(KEPT, found.first_cuts, found.second_cuts, strict=True):
        at = float(cuts[0]), float(cuts[1])
        # Of a few events a varied map, or signal of negative weight, empties a region: no row.
        with suppress(ValueError):
            one = closure(
                first[background], second[background], at, sample_weight=weight, variations=pairs
            )
            cells = [
                _text(one.observed, one.observed_error),
                _text(one.predicted, one.predicted_error),
                _text(one.ratio, one.ratio_error),
                f"{one.pull:+.1f}",
            ]
            if events.has_signal:
                share, bias = contamination(
                    first, second, events.labels, at, sample_weight=events.weight
                )
                cells += ["n/a" if np.isnan(part) else f"{part:.1%}" for part in (*share, bias)]
            table.rows.append([f"{100 * kept:g}%", *cells])
    return table


def _ratios(name: str, found: ClosureMap) -> Table:
    """Write the whole map of one score."""
    header = [f"{name}: kept by the first cut", *(f"second keeps {100 * k:g}%" for k in KEPT)]
    return Table(
        header,
        [
            [f"{100 * kept:g}%", *(_text(*cell) for cell in zip(*row, strict=True))]
            for kept, *row in zip(KEPT, found.ratio, found.error, strict=True)
        ],
    )


def _text(value: float, error: float) -> str:
    return " ".join(with_error(Ideal(value, error))).strip()


@styled
def _draw(maps: Mapping[str, ClosureMap], first: str) -> Figure:
    """Draw one panel a score."""
    figure = Figure(figsize=(1.4 + 3.4 * len(maps), 3.6), layout="constrained")
    panels = figure.subplots(1, len(maps), squeeze=False, sharey=True)[0]
    ticks = [f"{100 * kept:g}%" for kept in KEPT]
    for axes, (label, found) in zip(panels, maps.items(), strict=True):
        drawn = axes.imshow(found.pull.T, cmap="RdBu_r", vmin=-MOST, vmax=MOST, origin="lower")
        for (i, j), ratio in np.ndenumerate(found.ratio):
            strong = abs(found.pull[i, j]) > 0.6 * MOST
            axes.text(
                i,
                j,
                number(ratio, 3) if np.isfinite(ratio) else "",
                ha="center",
                va="center",
                size=7,
                color="white" if strong else "black",
            )
        axes.set_title(label)
        axes.set(xlabel=f"kept by {first}")
        axes.set_xticks(range(len(KEPT)), ticks)
        axes.set_yticks(range(len(KEPT)), ticks)
        axes.tick_params(which="both", length=0)
        axes.label_outer()
    panels[0].set(ylabel="kept by the score")
    figure.colorbar(drawn, ax=panels, extend="both", label="off by so many errors", pad=0.02)
    return figure
