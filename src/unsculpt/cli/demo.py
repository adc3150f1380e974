"""`unsculpt demo`: the whole job on the jets of the package."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from unsculpt.datasets import Jets


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", dir_okay=False, help="Where to write the figure (PNG, PDF or SVG)."
        ),
    ] = Path("unsculpt-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Of the tagger and the flow.")] = 0,
) -> None:
    """Train a W tagger on the jets of the package and decorrelate it from their mass.

    The flow is fitted on QCD jets that the tagger has not seen, and judged on others yet.
    """
    if not output.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {output.parent}", param_hint="--output")
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise typer.BadParameter(
            f"{output} should end in .png, .pdf or .svg", param_hint="--output"
        )

    import numpy as np
    from rich.console import Console
    from rich.markup import escape
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from unsculpt import FlowDecorrelator
    from unsculpt.datasets import load_jets
    from unsculpt.plots import before_after
    from unsculpt.whole import whole

    console = Console()
    train, test = load_jets("train"), load_jets("test")
    # A classifier scores the background it learned from too low: a flow fitted there would expect
    # less background at high scores than there is. So half of the QCD jets are put aside.
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first

    start = time.perf_counter()
    tagger = HistGradientBoostingClassifier(random_state=seed)
    with threadpool_limits(1):  # where cores are shared, two of its threads take ten times longer
        tagger.fit(train.features[~aside], train.label[~aside])
        unseen, raw = (
            tagger.predict_proba(features)[:, 1]
            for features in (train.features[aside], test.features)
        )
    console.print(f"Trained boosted trees on {np.sum(~aside):,} W and QCD jets {_since(start)}.")

    start = time.perf_counter()
    flow = FlowDecorrelator(seed=seed).fit(unseen, train.mass[aside])
    console.print(f"Fitted the flow on {np.sum(aside):,} other QCD jets {_since(start)}.")

    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        flat = flow.transform(raw, test.mass)
    console.print(_table(test, raw, flat))
    for note in notes:
        console.print(f"[dim]Note: {escape(str(note.message))}.[/dim]")
    console.print(
        "[dim]R50: background rejection at 50% signal efficiency. 1/JSD50: how little that cut "
        "sculpts the background mass; ideal is what a random selection of that size gets on the "
        "same jets. AUC at fixed mass: the mean over the signal's masses.[/dim]"
    )
    with whole(output) as draft:
        before_after(raw, flat, test.label, test.mass).savefig(draft, dpi=150)
    console.print(f"Figure: [bold]{escape(str(output))}[/bold]")


def _since(start: float) -> str:
    return f"in {time.perf_counter() - start:.0f} s"


def _table(test: Jets, raw: NDArray[np.float64], flat: NDArray[np.float64]) -> Table:
    import numpy as np
    from rich.table import Table

    from unsculpt import metrics
    from unsculpt.datasets.generator.window import MASS

    # Fixed, so that the numbers do not hang on the lightest and the heaviest jet.
    bins = np.linspace(*MASS, 51)

    table = Table("", "R50", "1/JSD50", "ideal 1/JSD50", "AUC", "AUC at fixed mass")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in (("raw score", raw), ("decorrelated", flat)):
        events = (score, test.label, test.mass)
        ideal = metrics.ideal_inverse_jsd(*events, bins=bins)
        table.add_row(
            name,
            f"{metrics.rejection(score, test.label):.1f}",
            f"{metrics.inverse_jsd(*events, bins=bins):,.1f}",
            f"{ideal.mean:,.0f} ± {ideal.spread:,.0f}",
            f"{metrics.auc(score, test.label):.3f}",
            f"{metrics.expected_auc(*events):.3f}",
        )
    return table
