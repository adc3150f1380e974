"""`unsculpt reproduce`: the paper's study, with every figure and table."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unsculpt.cli.shared import Json, Quiet, Scheduler, Workers, explained, print_json

if TYPE_CHECKING:
    from rich.console import Console


class Size(StrEnum):
    """How much of the study."""

    quick = "quick"
    paper = "paper"


def reproduce(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", file_okay=False, help="Folder for the results."
        ),
    ] = Path("reproduction"),
    preset: Annotated[
        Size,
        typer.Option(
            metavar="quick|paper",
            help="How much to run. quick: few seeds, strengths and epochs, minutes on two cores. "
            "paper: all of it, for one large GPU.",
        ),
    ] = Size.quick,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="W_high_level.npz, the original jets. By default the jets of the package.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Judge the scores in this file the same way, without training. It has the columns "
            "score, label (1 for signal) and mass in GeV. It may have weight, and train: 1 for "
            "the events to fit on, by default a random half.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    figures: Annotated[
        bool, typer.Option(metavar="", help="Draw the figures and write the page after computing.")
    ] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the study of the paper and write every figure and table.

    Prints a plan first. Finished work is kept: the same command computes
    only what is missing.

    \b
    Examples:
      unsculpt reproduce
      unsculpt reproduce --preset paper --data W_high_level.npz -o paper
    """  # noqa: D301
    start = time.perf_counter()
    with explained(quiet=quiet):
        from rich.console import Console

        console = Console(quiet=quiet or as_json)
        if scores is not None:
            answer = _judge(scores, output, console)
        else:
            cluster = {"workers": workers, "scheduler": scheduler}
            answer = _study(preset.value, output, console, figures, data=data, **cluster)
        if as_json:
            models = {"models": _models(answer["results"])}
            seconds = {"seconds": time.perf_counter() - start}
            print_json({"output": str(output)} | answer | models | seconds)


def _judge(scores: Path, output: Path, console: Console) -> dict[str, str]:
    """Judge saved scores; return where the results are."""
    from unsculpt.study.scores import judge

    judge(scores, output, console=console)
    return {"results": str(output / "scores.parquet"), "figures": str(output / "figures")}


def _study(
    preset: str, output: Path, console: Console, figures: bool, **options: Any
) -> dict[str, str]:
    """Run the study; return where the results are."""
    from unsculpt.study import run, study

    table = run(preset, output, console=console, **options)
    answer = {"preset": preset, "results": str(table)}
    if figures:
        from unsculpt.study.figures import draw
        from unsculpt.study.page import write_page

        study(output, console=console)
        draw(output)
        answer |= {"figures": str(output / "figures"), "page": str(write_page(output))}
        console.print("Figures: [bold]{figures}[/bold], page: [bold]{page}[/bold]".format(**answer))
    console.print(f"Results: [bold]{table}[/bold]")
    return answer


def _models(table: str) -> int:
    """Count the models that were judged."""
    from unsculpt.study.results import Results

    return sum(row.get("r50") is not None for row in Results.read(Path(table)).rows)
