"""Writing a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from unsculpt.atomic import atomic_write
from unsculpt.decorrelators import Decorrelator
from unsculpt.progress import progress
from unsculpt.report.abcd import abcd_section
from unsculpt.report.cuts import CutTests, points
from unsculpt.report.data import Data, data_pictures
from unsculpt.report.events import Events
from unsculpt.report.page import page
from unsculpt.report.picture import Picture
from unsculpt.report.pictures import pictures
from unsculpt.report.provenance import provenance_of
from unsculpt.report.summary import Numbers, summary
from unsculpt.report.words import bare
from unsculpt.report.working_points import working_points


def write_report(
    path: str | os.PathLike[str],
    model: Decorrelator | Mapping[str, Decorrelator],
    scores: ArrayLike,
    protected: Any,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    event: ArrayLike | None = None,
    score_name: str = "score",
    names: Sequence[str] | None = None,
    bins: int | ArrayLike = 50,
    efficiency: float = 0.5,
    title: str | None = None,
    abcd: str | None = None,
    data: Sequence[Any] | None = None,
    figures: str | os.PathLike[str] | None = None,
    provenance: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> list[Numbers]:
    """Write one HTML file that shows what a decorrelator does to a score, whole or not at all.

    It needs no network: numbers with their errors beside the ideal, spectra at any working
    point, the figures, and where all of it comes from. Judge on events the model has not seen.

    Args:
        path: the HTML file to write.
        model: a fitted decorrelator of one score; or several by their names, to be compared. The
            first of them is the main one: what is about one model is about that.
        scores: the score as it came, (n,).
        protected: the attributes, as the model takes them; the first one has the slider.
        labels: 1 for signal, 0 for background. If not given all events are background, as in a
            control region: the report then shows what needs no signal, and says so.
        sample_weight: event weights of either sign, one each if not given.
        event: the numbers that tell the folds of events to a `CrossFit`; without them it takes the
            events for new ones.
        score_name: what the score is called, in the title and on axes.
        names: what the attributes are called, with their units; as in the table if not given.
        bins: bins of the first attribute: number of equal bins across the background, or the edges.
        efficiency: the signal efficiency of the numbers and figures of one working point; without
            signal, the background efficiency.
        title: title of the page; if not given, it says what is decorrelated from what.
        abcd: the name of the attribute that is the first score of an ABCD method, whose second is
            decorrelated from it; the report then has a section on closure.
        data: scores and attributes of data, and their weights if these vary, to be shown beside
            the simulated background: spectra and efficiencies of the same cuts.
        figures: a folder that gets every figure as PDF and as PNG, made if it is not there.
        provenance: more lines about where it comes from, such as the command and the files.
        notes: what the reader should know, shown below the summary.

    Returns:
        The numbers of the summary, for the raw score and each decorrelated one.

    >>> import tempfile
    >>> from unsculpt import FlowDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy, test = toys.smooth(2000, 0, seed=1), toys.smooth(2000, 500, seed=2)
    >>> flow = FlowDecorrelator(members=1, epochs=2).fit(toy.score, toy.protected)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name + "/report.html"
    >>> raw, flat = write_report(path, flow, test.score, test.protected, test.label)
    >>> raw.values["1/JSD50"].value < flat.values["1/JSD50"].value
    True
    >>> folder.cleanup()
    """
    with (
        atomic_write(path) as draft,  # which refuses a bad path before the work
        progress("Transforming the events") as advance,
    ):
        events = Events.prepare(model, scores, protected, labels, sample_weight, names, bins, event)
        called = [axis.name for axis in events.axes]
        advance(0, title="Judging")
        test = CutTests(events)
        numbers = summary(events, efficiency, test)
        measured = None if data is None else Data.prepare(events, data)
        # First of all pictures, though it is the last on the page: it may be asked for in vain.
        closure = [] if abcd is None else [abcd_section(events, abcd)]
        advance(0, title="Drawing")
        drawn = []
        for picture in chain(
            pictures(events, efficiency, score_name),
            data_pictures(events, measured) if measured else [],
        ):
            drawn.append(picture)
            advance(0, title=f"Drawing, {len(drawn)} done")
        drawn += closure
        advance(0, title="Writing the page")
        for picture in drawn:  # laid out once, not for each of its files
            if layout := picture.figure.get_layout_engine():
                layout.execute(picture.figure)
                picture.figure.set_layout_engine("none")
        text = page(
            title=title or f"{score_name} decorrelated from {', '.join(map(bare, called))}",
            names=called,
            cut_on=events.cut_on,
            has_signal=events.has_signal,
            numbers=numbers,
            points=points(events, test),
            background=int((events.labels == 0).sum()),
            efficiency=efficiency,
            data=working_points(events),
            pictures=drawn,
            provenance=provenance_of(events, provenance or {}),
            notes=[*events.notes, *(measured.notes if measured else []), *notes],
        )
        draft.write_text(text, encoding="utf-8")
        if figures is not None:
            _write_figures(drawn, Path(figures))
    return numbers


def _write_figures(drawn: list[Picture], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    names = [(picture, ending) for picture in drawn for ending in ("pdf", "png")]
    with progress("Writing figures", len(names), "files") as advance:
        for picture, ending in names:
            with atomic_write(folder / f"{picture.slug}.{ending}") as draft:
                picture.figure.savefig(draft, dpi=200)
            advance()
