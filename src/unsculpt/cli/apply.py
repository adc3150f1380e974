"""`unsculpt apply`: a decorrelated score for every event in files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unsculpt.cli.shared import (
    EVENTS,
    OUTPUT,
    Amount,
    Events,
    FoldBy,
    HereProtected,
    Json,
    Quiet,
    Scheduler,
    To,
    Variations,
    Workers,
    check_folder,
    cluster_if_any,
    explained,
    few_or_many,
    know_folds,
    load_decorrelator,
    place,
    print_json,
    printable,
    said,
)

if TYPE_CHECKING:
    from unsculpt.files import Applied


def apply(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ],
    events: Events,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER/",
            help="The file to write, in the format of its ending; or a folder, to write each file "
            "into under its own name.",
            rich_help_panel=OUTPUT,
        ),
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The name of the new column. By default the name of the score with _flat, or "
            "with _moved, at its end.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPR",
            help="The score in these files, if its name is not that of the fit.",
            rich_help_panel=EVENTS,
        ),
    ] = None,
    protect: HereProtected = None,
    nan: Annotated[
        Literal["raise", "keep"],
        typer.Option(
            metavar="raise|keep",
            help="An event whose score or attribute is NaN or infinite is an error, or gets NaN.",
            rich_help_panel=EVENTS,
        ),
    ] = "raise",
    outside: Annotated[
        Literal["clip", "raise", "nan"] | None,
        typer.Option(
            metavar="clip|raise|nan",
            help="An event beyond the range of the fit is treated as at its end, is an error, or "
            "gets NaN. By default as in the fit.",
            rich_help_panel=EVENTS,
        ),
    ] = None,
    selected_only: Annotated[
        bool,
        typer.Option(
            "--selected-only",
            metavar="",
            help="Give NaN to events that the selection of the fit leaves out.",
            rich_help_panel=EVENTS,
        ),
    ] = False,
    variations: Variations = 0,
    to: To = None,
    amount: Amount = None,
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
      unsculpt apply w.unsculpt events.root -o moved.root --to 125 --amount 0.7
    """  # noqa: D301
    check_folder(output)
    where = place(to, amount)
    with explained(quiet=quiet):
        from unsculpt import files
        from unsculpt.atomic import keep_inputs
        from unsculpt.progress import progress

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
            **where,
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

    for attribute, count in done.outside.items():
        if 2 * count > done.scores:
            said(
                "Warning",
                [
                    f"{attribute} was outside the fitted range in most events; is it in the units "
                    f"of the fit? 'unsculpt info {model}' shows the range"
                ],
            )
    if as_json:
        print_json(vars(done) | {"seconds": seconds})
    elif not quiet:
        _print(done, seconds, outside or str(getattr(fitted, "outside", "clip")))


def _print(done: Applied, seconds: float, outside: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    columns = few_or_many(done.columns, "columns") + "," * (len(done.columns) > 5)
    files = few_or_many(done.files, "files")
    each = "" if done.scores == done.rows else f" with {done.scores:,} scores"
    console.print(
        f"Added {escape(printable(columns))} to {done.rows:,} rows{each} in {seconds:.1f} s: "
        f"[bold]{escape(printable(files))}[/bold]",
        soft_wrap=True,
    )
    if done.missing:
        console.print(f"{done.missing:,} of {done.scores:,} were NaN or infinite and stay NaN.")
    if done.unselected:
        console.print(f"{done.unselected:,} of {done.scores:,} are not selected and stay NaN.")
    for name, count in done.outside.items():
        console.print(
            f"{escape(printable(name))} was outside the fitted range in {count:,} of "
            f"{done.scores:,}: "
            f"{'the nearest fitted value stood in' if outside == 'clip' else 'they are NaN'}."
        )
