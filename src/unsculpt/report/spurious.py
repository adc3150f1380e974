"""The signal that a search would find in the background of a report."""

from __future__ import annotations

import numpy as np

from unsculpt import metrics, plots
from unsculpt.inputs import Floats
from unsculpt.metrics import Interval, Scan
from unsculpt.metrics.bumps import describes, smooth_order
from unsculpt.plots.spectrum import background_spectra
from unsculpt.report.events import Events
from unsculpt.report.picture import Picture, Table
from unsculpt.report.words import bare, number

FEWEST_BINS = 20
MANY = 25  # events: between bins with so many an empty one is no accident


def spurious_signal(events: Events, efficiency: float) -> Picture | None:
    """Scan the spectra of the first attribute.

    None of categories, few bins or no weight; of bins of several widths, whose contents are no
    smooth function; and of a spectrum with a hole, such as a blinded window.
    """
    axis = events.axes[0]
    bins = len(axis.edges) - 1
    spectra = background_spectra(
        events.scores, events.labels, axis, sample_weight=events.weight, efficiency=efficiency
    )
    filled = all(spectrum.content.sum() > 0 for spectrum in spectra.values())
    if axis.categories or bins < FEWEST_BINS or not filled:
        return None
    every = spectra["all"]
    even = np.ptp(np.diff(axis.edges)) < 1e-6 * (axis.edges[1] - axis.edges[0])
    if not even or _has_hole(every.content, every.variance):
        return None
    order = smooth_order(every.content, axis.edges, every.variance)
    scans = {
        label: metrics.scan_for_bumps(
            spectrum.content, axis.edges, width=bins // 10, order=order, squares=spectrum.variance
        )
        for label, spectrum in spectra.items()
    }
    worst = "; ".join(f"{label} {_largest(scan):.1f}" for label, scan in scans.items())
    grey = "the lowest that describes all background (grey)"
    flat = "A cut that does not sculpt looks like grey: within two errors nearly everywhere."
    if not describes(order, every.content, axis.edges, every.variance):
        grey = "the highest that is tried, and does not describe all background (grey)"
        flat = (
            "So the excess is that of the function too: compare with grey, or leave out edges of "
            "the spectrum by bins of your own (--bins). A cut that does not sculpt looks like grey."
        )
    windows = [
        f"{number(low)} to {number(high)}"
        for low, high in zip(scans["all"].low, scans["all"].high, strict=True)
    ]
    return Picture(
        "spurious",
        "Spurious signal",
        "What a search for a bump would find in background alone. A window of a tenth of the "
        f"spectrum slides over {bare(axis.name)}; beside it the exponential of a polynomial of "
        f"order {order} is fitted, {grey}. Drawn is the excess in the window over that fit, in "
        "errors: of all background, and after cuts that "
        f"keep {efficiency:.0%} of the {events.cut_on}. {flat} The largest of all windows: "
        f"{worst}.",
        plots.bumps(scans, name=axis.name),
        [
            Table.from_columns(
                f"window of {axis.name}",
                windows,
                {f"excess in %, {label}": _excess(scan) for label, scan in scans.items()}
                | {f"in errors, {label}": scan.pulls for label, scan in scans.items()},
            )
        ],
    )


def _has_hole(content: Floats, squares: Floats) -> bool:
    """Return whether bins are empty between two that hold many events."""
    events = np.divide(content**2, squares, out=np.zeros(len(content)), where=squares > 0)
    before, after = np.maximum.accumulate(events), np.maximum.accumulate(events[::-1])[::-1]
    return bool(np.any((events == 0) & (before > MANY) & (after > MANY)))


def _largest(scan: Scan) -> float:
    """Return the pull that is farthest from zero."""
    return float(scan.pulls[np.abs(scan.pulls).argmax()])


def _excess(scan: Scan) -> Interval[Floats]:
    """Return the excess in per cent of what is expected in the window."""
    value, error = (100 * x / scan.expected for x in (scan.excess, scan.error))
    return Interval(value, value - error, value + error)
