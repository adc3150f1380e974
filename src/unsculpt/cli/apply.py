"""`unsculpt apply`: a decorrelated score for every event in files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unsculpt.cli.shared import (
    Events,
    FoldBy,
    Json,
    Quiet,
    Scheduler,
    Variations,
    Workers,
    check_folder,
    cluster_if_any,
    explained,
    know_folds,
    load_decorrelator,
    print_json,
    progress,
)

if TYPE_CHECKING:
    from unsculpt.files import Applied


def apply(
    model: Annotated[str, typer.Argument(help="A model file.", show_default=False)],
    events: Events,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, in the format its name ends in, or a folder/ to write "
            "each file into under its own name.",
        ),
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(help="Of the new column; if not given, the score's with _flat behind it."),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(help="The score here, if it is called otherwise than in the fit."),
    ] = None,
    protect: Annotated[
        list[str] | None, typer.Option(help="The protected attribute here, likewise.")
    ] = None,
    nan: Annotated[
        Literal["raise", "keep"],
        typer.Option(help="NaN or infinite scores and attributes: an error, or NaN in the output."),
    ] = "raise",
    outside: Annotated[
        Literal["clip", "raise", "nan"] | None,
        typer.Option(
            help="Protected values beyond the fitted range: as the fit was told, if not given."
        ),
    ] = None,
    selected_only: Annotated[
        bool,
        typer.Option("--selected-only", help="NaN for events that are not of the fit's selection."),
    ] = False,
    variations: Variations = 0,
    fold_by: FoldBy = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Add the decorrelated score to events and keep all their other columns.

    Reads and writes a chunk at a time, so files may be larger than memory.
    What is written appears whole or not at all.

    \b
    Examples:
      unsculpt apply w.unsculpt events.root -o flat.root
      unsculpt apply w.unsculpt 'run*.parquet' -o flat/
      unsculpt apply w.unsculpt 'run*.parquet' -o flat/ --workers 8
      unsculpt apply w.unsculpt events.root:Jets -o flat.parquet \\
          --name tagger_noW --nan keep
      unsculpt apply w.unsculpt events.root -o flat.root --variations 20
    """  # noqa: D301
    check_folder(output)
    with explained(quiet=quiet):
        from unsculpt import files
        from unsculpt.atomic import keep_inputs

        stream = files.scan(*events)
        for _, target in files.targets(stream, output):
            keep_inputs(target.path, model)

        fitted = load_decorrelator(model)
        source = dict(fitted.source_ or {})
        source |= {"score": score} if score else {}
        source |= {"protected": protect} if protect else {}
        know_folds(fitted, source, fold_by)
        start = time.perf_counter()
        options: dict[str, Any] = {
            "names": name or (),
            "source": source if {"score", "protected"} <= source.keys() else None,
            "nan": nan,
            "outside": outside,
            "selected_only": selected_only,
            "variations": variations,
        }
        with (
            cluster_if_any(scheduler, workers) as client,
            progress("Decorrelating", stream.rows) as advance,
        ):
            if client is None:
                done = files.apply(fitted, stream, output, advance=advance, **options)
            else:
                from unsculpt.files import cluster

                done = cluster.apply(client, model, stream, output, advance=advance, **options)
        seconds = time.perf_counter() - start

    if as_json:
        print_json(vars(done) | {"seconds": seconds})
    elif not quiet:
        _print(done, seconds, outside or str(getattr(fitted, "outside", "clip")))


def _print(done: Applied, seconds: float, outside: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    columns, files = ", ".join(done.columns), ", ".join(done.files)
    each = "" if done.scores == done.rows else f" with {done.scores:,} scores"
    console.print(
        f"Added {escape(columns)} to {done.rows:,} rows{each} in {seconds:.1f} s: "
        f"[bold]{escape(files)}[/bold]",
        soft_wrap=True,
    )
    if done.missing:
        console.print(f"{done.missing:,} of {done.scores:,} were NaN or infinite and stay NaN.")
    if done.unselected:
        console.print(f"{done.unselected:,} of {done.scores:,} are not selected and stay NaN.")
    for name, count in done.outside.items():
        console.print(
            f"{escape(name)} was outside the fitted range in {count:,} of {done.scores:,}: "
            f"{'the nearest fitted value stood in' if outside == 'clip' else 'they are NaN'}."
        )
