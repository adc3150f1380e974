"""`unsculpt report`: what a model does to events in files, as one HTML page."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unsculpt.cli.shared import (
    Events,
    Json,
    Quiet,
    check_file,
    explained,
    load_decorrelator,
    print_json,
    progress,
)


def report(
    model: Annotated[str, typer.Argument(help="A model file.", show_default=False)],
    events: Events,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The HTML file to write.")
    ] = "report.html",
    figures: Annotated[
        str | None,
        typer.Option(
            help="The folder for the figures as PDF and PNG; if not given, the report's name with "
            "-figures behind it."
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(help="The score here, if it is called otherwise than in the fit."),
    ] = None,
    protect: Annotated[
        list[str] | None, typer.Option(help="The protected attribute here, likewise.")
    ] = None,
    background: Annotated[
        str | None, typer.Option(help="Which events are background here, likewise.")
    ] = None,
    signal: Annotated[
        str | None,
        typer.Option(help="Which are signal here; those that are not background if not given."),
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Event weights here, likewise.")] = None,
    nan: Annotated[
        Literal["raise", "drop"],
        typer.Option(help="NaN or infinite scores, attributes and weights: an error, or left out."),
    ] = "raise",
    require_flat: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Exit with 1 if the decorrelated score is not flat at half of the signal: if the "
            "p-value of the test is below this number, such as 0.01.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show what a model does to the spectra of events, in one HTML file that needs no network.

    Give it background and signal that the model has not seen.

    \b
    Examples:
      unsculpt report w.unsculpt test.root -o w-tagger.html
      unsculpt report w.unsculpt qcd.parquet w.parquet --json \\
          --background 'process == "qcd"'
    """  # noqa: D301
    check_file(output, ".html")
    start = time.perf_counter()
    here = {
        "score": [score] if score else None,
        "protected": protect,
        "background": background,
        "signal": signal,
        "weight": weight,
    }
    with explained(quiet=quiet):
        from unsculpt import files

        stream = files.scan(*events)

        fitted = load_decorrelator(model)
        source, names = _columns(fitted.source_ or {}, here)
        with progress("Reading", stream.rows) as advance:
            sample = files.read_sample(stream, source, nan=nan, advance=advance)

        from rich.console import Console

        from unsculpt.inputs import Columns
        from unsculpt.report import write_report

        folder = figures or str(Path(output).with_suffix("")) + "-figures"
        with Console(stderr=True).status("Judging and drawing"):
            numbers = write_report(
                output,
                fitted,
                sample.scores,
                Columns(zip(names, sample.protected.values(), strict=True)),
                sample.label,
                sample_weight=sample.weight,
                event=sample.event,
                score_name=", ".join(source["score"]),
                names=list(sample.protected),
                figures=folder,
                provenance={
                    "Model file": model,
                    "Columns": "; ".join(f"{role} {_text(text)}" for role, text in source.items()),
                    "Files": ", ".join(map(str, stream.locations)),
                    "Left out": f"{sample.dropped:,} events that were NaN or infinite",
                    "Command": shlex.join(["unsculpt", *sys.argv[1:]]),
                },
            )
    flatness = numbers[-1].flatness
    if as_json:
        answer = {"report": output, "figures": folder, "rows": sample.rows}
        print_json(answer | {"numbers": [row.plain() for row in numbers]})
    elif not quiet:
        seconds = time.perf_counter() - start
        if flatness is not None:
            judged = int((sample.label == 0).sum())
            typer.echo(f"The decorrelated score is {flatness.verdict(judged)}.")
        typer.echo(f"Wrote a report on {len(sample.label):,} events in {seconds:.0f} s.")
        typer.echo(f"Figures: {folder}\nOpen the report: {Path(output).resolve()}")
    if require_flat is not None and (flatness is None or flatness.p_value < require_flat):
        found = "too few events to tell" if flatness is None else flatness.chance
        typer.echo(f"Error: not flat by --require-flat {require_flat:g}: {found}", err=True)
        raise typer.Exit(1)


def _columns(fitted: dict[str, Any], here: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the columns to read, and what the model calls the protected ones."""
    source = {role: text or fitted.get(role) for role, text in here.items()}
    if "fold_by" in fitted:
        source["fold_by"] = fitted["fold_by"]
    if not source["score"] or not source["protected"]:
        raise ValueError(
            "the model was fitted on arrays and does not know the columns of files; name them "
            "with --score and --protect, and --background and --weight where they matter"
        )
    names = fitted.get("protected") or source["protected"]
    if len(names) != len(source["protected"]):
        raise ValueError(
            f"the model protects {', '.join(names)}, "
            f"but --protect names {', '.join(source['protected'])}"
        )
    return source, names


def _text(columns: str | list[str] | None) -> str:
    return ", ".join(columns) if isinstance(columns, list) else columns or "(none)"
