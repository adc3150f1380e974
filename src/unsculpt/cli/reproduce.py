"""`unsculpt reproduce`: the paper's study, with every figure and table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from unsculpt.cli.shared import Scheduler, Workers


class Size(StrEnum):
    """How much of the study."""

    quick = "quick"
    paper = "paper"


def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the results.")
    ] = Path("reproduction"),
    preset: Annotated[
        Size,
        typer.Option(
            help="quick: minutes on two cores, few seeds, strengths and epochs. "
            "paper: all of it, for one large GPU."
        ),
    ] = Size.quick,
    data: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="W_high_level.npz, the original jets; those of the package if not given.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Instead of training, judge saved scores the same way: a file with columns score, "
            "label (1: signal) and mass in GeV; if it has them weight, and train (1: fit the flow "
            "on it; a random half if there is no such column).",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    figures: Annotated[
        bool, typer.Option(help="Draw the figures and write the page after computing.")
    ] = True,
) -> None:
    """Run the study of the paper and write every figure and table.

    Prints a plan first. Finished work is kept: the same command computes
    only what is missing.

    \b
    Examples:
      unsculpt reproduce
      unsculpt reproduce --preset paper --data W_high_level.npz -o paper
    """  # noqa: D301
    from rich.console import Console

    console = Console()
    if scores is not None:
        from unsculpt.experiments.scores import judge

        judge(scores, output, console=console)
        return

    from unsculpt.experiments import run, study

    table = run(
        preset.value, output, data=data, workers=workers, scheduler=scheduler, console=console
    )
    if figures:
        from unsculpt.experiments.figures import draw
        from unsculpt.experiments.page import write_page

        table = study(output, console=console)
        draw(output)
        page = write_page(output)
        console.print(f"Figures: [bold]{output / 'figures'}[/bold], page: [bold]{page}[/bold]")
    console.print(f"Results: [bold]{table}[/bold]")
