"""`unsculpt demo`: the whole job on embedded events."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from unsculpt.datasets.toys import Toy


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", dir_okay=False, help="Where to write the figure (PNG, PDF or SVG)."
        ),
    ] = Path("unsculpt-demo.png"),
    seed: Annotated[int, typer.Option(help="Of the events and the fit.")] = 0,
) -> None:
    """Decorrelate a W tagger from the jet mass, on toy events made on the spot.

    Fits the flow on 110,000 background events and judges it on 300,000 others.
    """
    if not output.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {output.parent}", param_hint="--output")
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(
            f"{output} should end in .png, .pdf or .svg", param_hint="--output"
        )

    from rich.console import Console
    from rich.markup import escape

    from unsculpt import FlowDecorrelator
    from unsculpt.datasets import toys
    from unsculpt.plots import before_after

    console = Console()
    console.print("A toy W tagger: its score peaks for background jets near 80 GeV.")
    train = toys.tagger(background=110_000, signal=0, seed=2 * seed)
    start = time.perf_counter()
    flow = FlowDecorrelator(seed=seed).fit(train.score, train.protected)
    console.print(
        f"Fitted the flow on 110,000 background jets in {time.perf_counter() - start:.0f} s."
    )

    test = toys.tagger(background=300_000, signal=30_000, seed=2 * seed + 1)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        flat = flow.transform(test.score, test.protected)
    console.print(_table(test, flat))
    for note in notes:
        console.print(f"[dim]Note: {escape(str(note.message))}.[/dim]")
    console.print(
        "[dim]R50: background rejection at 50% signal efficiency. 1/JSD50: how little that cut "
        "sculpts the background mass; ideal is what a random selection of that size gets on the "
        "same jets. AUC at fixed mass: the mean over the signal's masses.[/dim]"
    )
    _save(before_after(test.score, flat, test.label, test.protected), output)
    console.print(f"Figure: [bold]{escape(str(output))}[/bold]")


def _save(figure: Figure, output: Path) -> None:
    """Write the figure whole or not at all: a failure leaves an older file as it was."""
    part = output.with_name(f".{output.stem}-{os.getpid()}{output.suffix}")
    try:
        figure.savefig(part, dpi=150)
        os.replace(part, output)
    finally:
        part.unlink(missing_ok=True)


def _table(test: Toy, flat: NDArray[np.float64]) -> object:
    import numpy as np
    from rich.table import Table

    from unsculpt import metrics
    from unsculpt.datasets.toys import MASS_RANGE

    # Fixed, so that the numbers do not hang on the lightest and the heaviest jet.
    bins = np.linspace(*MASS_RANGE, 51)

    table = Table("", "R50", "1/JSD50", "ideal 1/JSD50", "AUC", "AUC at fixed mass")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in (("raw score", test.score), ("decorrelated", flat)):
        events = (score, test.label, test.protected)
        ideal = metrics.ideal_inverse_jsd(*events, bins=bins)
        table.add_row(
            name,
            f"{metrics.rejection(score, test.label):.1f}",
            f"{metrics.inverse_jsd(*events, bins=bins):,.0f}",
            f"{ideal.mean:,.0f} ± {ideal.spread:,.0f}",
            f"{metrics.auc(score, test.label):.3f}",
            f"{metrics.expected_auc(*events):.3f}",
        )
    return table
