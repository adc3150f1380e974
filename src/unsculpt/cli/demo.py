"""`unsculpt demo`: the whole job on the jets of the package."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unsculpt.cli.shared import Json, Quiet, check_file, explained, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from unsculpt.report.summary import Numbers


def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", dir_okay=False, help="The report to write (HTML)."
        ),
    ] = Path("unsculpt-demo.html"),
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Write a figure of before and after: PNG, PDF, SVG.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed of the training of the tagger.")
    ] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a W tagger on the jets of the package and decorrelate it from their mass.

    A spline is fitted on QCD jets that the tagger has not seen, and judged on
    jets that neither of the two has seen.

    \b
    Example:
      unsculpt demo --figure before-after.png
    """  # noqa: D301
    check_file(str(output), ".html")
    if figure is not None:
        check_file(str(figure), ".png", ".pdf", ".svg", option="--figure")
    start = time.perf_counter()
    with explained(quiet=quiet):
        from rich.console import Console

        numbers = _work(output, figure, seed, Console(quiet=quiet or as_json))
    if as_json:
        paths = {"report": str(output), "figure": str(figure) if figure else None}
        plain = [row.plain() for row in numbers]
        print_json(paths | {"seconds": time.perf_counter() - start, "numbers": plain})


def _work(output: Path, figure: Path | None, seed: int, console: Console) -> list[Numbers]:
    """Train, fit, judge; return the numbers of the report."""
    import numpy as np
    from rich.markup import escape
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    from unsculpt import SplineDecorrelator
    from unsculpt.atomic import atomic_write
    from unsculpt.datasets import load_jets
    from unsculpt.datasets.generator.window import MASS
    from unsculpt.inputs import Columns
    from unsculpt.plots import before_after
    from unsculpt.progress import progress
    from unsculpt.report import write_report

    train, test = load_jets("train"), load_jets("test")
    # A classifier scores the background it learned from too low: a map fitted there would expect
    # less background at high scores than there is. So half of the QCD jets are put aside.
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first

    start = time.perf_counter()
    tagger = HistGradientBoostingClassifier(random_state=seed)
    # Where cores are shared, two of its threads take ten times longer.
    with threadpool_limits(1), progress("Training boosted trees"):
        tagger.fit(train.features[~aside], train.label[~aside])
        unseen, raw = (
            tagger.predict_proba(features)[:, 1]
            for features in (train.features[aside], test.features)
        )
    console.print(f"Trained boosted trees on {np.sum(~aside):,} W and QCD jets {_since(start)}.")

    start = time.perf_counter()
    with progress("Fitting the spline"):
        spline = SplineDecorrelator().fit(unseen, Columns(mass=train.mass[aside]))
    console.print(f"Fitted the spline on {np.sum(aside):,} other QCD jets {_since(start)}.")

    start = time.perf_counter()
    numbers = write_report(
        output,
        spline,
        raw,
        Columns(mass=test.mass),
        test.label,
        score_name="W tagger",
        names=["mass [GeV]"],
        # Fixed, so that the numbers do not hang on the lightest and the heaviest jet.
        bins=np.linspace(*MASS, 51),
        provenance={"Command": f"unsculpt demo --seed {seed}", "Files": "the jets of the package"},
    )
    console.print(f"Judged it on {len(test):,} jets that neither has seen {_since(start)}.")
    console.print(_table(numbers))
    if found := numbers[-1].flatness:
        background = int(np.sum(test.label == 0))
        console.print(f"The {numbers[-1].score} is {found.line(background)}.", highlight=False)
    console.print(
        "[dim]R50: background rejection at 50% signal efficiency. 1/JSD50: how little that cut "
        "sculpts the background mass; ideal is what a random selection of that size gets on the "
        "same jets. AUC at fixed mass: the mean over the signal's masses.[/dim]"
    )
    if figure is not None:
        with warnings.catch_warnings():  # of jets beyond the fitted masses: the report says so
            warnings.simplefilter("ignore")
            flat = spline.transform(raw, test.mass)
        with atomic_write(figure) as draft:
            before_after(raw, flat, test.label, test.mass).savefig(draft, dpi=150)
        console.print(f"Figure: [bold]{escape(str(figure))}[/bold]", soft_wrap=True)
    console.print(f"Open the report: [bold]{escape(str(output.resolve()))}[/bold]", soft_wrap=True)
    return numbers


def _since(start: float) -> str:
    return f"in {time.perf_counter() - start:.0f} s"


def _table(numbers: list[Numbers]) -> Table:
    from rich.table import Table

    from unsculpt.metrics import Ideal, Interval
    from unsculpt.report.words import with_error

    def cell(value: Interval[float] | Ideal) -> str:
        if isinstance(value, Interval):  # a terminal has no room for both ends
            value = Ideal(value.value, (value.high - value.low) / 2)
        return "\n".join(with_error(value))

    table = Table("", *numbers[0].values)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in numbers:
        table.add_row(row.score.removesuffix(" score"), *map(cell, row.values.values()))
    return table
