"""What `unsculpt fit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from unsculpt.files import Sample, Stream


def print_read(stream: Stream, sample: Sample) -> None:
    """Say what was in the files."""
    signal = int(sample.label.sum())
    files = f"{len(stream.sources)} file{'s'[: len(stream.sources) - 1]}"
    dropped = f", {sample.dropped:,} dropped as NaN or infinite" if sample.dropped else ""
    others = f", {sample.others:,} neither or not selected" if sample.others else ""
    typer.echo(
        f"Read {sample.rows:,} rows of {files}: {len(sample.label) - signal:,} background, "
        f"{signal:,} signal{dropped}{others}."
    )


def print_counted(others: Stream) -> None:
    """Say what the cluster counted."""
    typer.echo(
        f"Counted the background of {len(others.sources)} more on the cluster, in the bins of the "
        "first file; the model is judged on events of that one."
    )


def print_fit(answer: dict[str, Any], verdicts: list[str]) -> None:
    """Say what was fitted, and what the model does to events that were held out."""
    from rich.console import Console
    from rich.markup import escape

    from unsculpt.cli.judging import table

    console = Console(highlight=False)
    folds, by = answer["folds"], answer["columns"].get("fold_by")
    console.print(
        f"Fitted a {answer['method']} of {', '.join(answer['columns']['score'])} given "
        f"{', '.join(answer['columns']['protected'])} on {answer['fitted_on']:,} background events "
        + (f"in {folds} folds by {by} " if folds else "")
        + f"in {answer['seconds']:.0f} s.",
        markup=False,
        soft_wrap=True,
    )
    if blind := answer["columns"].get("blind"):
        console.print(
            f"Events with {blind} were not looked at. There the map is as smooth as beside it; a "
            "score that does something else inside is not seen.",
            markup=False,
            soft_wrap=True,
        )
    if answer["judged"]:
        console.print(table(answer["judged"]))
        cut = "50% signal efficiency" if answer["signal"] else "half of the background"
        rejection = "R50: background rejection. " if answer["signal"] else ""
        how = f"in {folds} folds, by models that have not seen them" if folds else "held out"
        console.print(
            f"[dim]On {answer['held_out']:,} background events {how}, cut at {cut}. {rejection}"
            "1/JSD50: how little the cut sculpts the background; ideal is what a random selection "
            "of that size gets.[/dim]"
        )
    for line in verdicts:
        console.print(f"[bold]{escape(line)}[/bold]", soft_wrap=True)
    console.print(f"Model: [bold]{escape(answer['model'])}[/bold]", soft_wrap=True)
