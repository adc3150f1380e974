"""`unsculpt report`: what a model does to events in files, as one HTML page."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from unsculpt.cli.report_inputs import (
    columns_of,
    compared,
    known_here,
    listed,
    named_as_fitted,
    seen_in_the_fit,
)
from unsculpt.cli.shared import (
    EVENTS,
    OUTPUT,
    PAGE,
    BackgroundFiles,
    FoldBy,
    HereProtected,
    Json,
    OnBadValues,
    Quiet,
    Selection,
    Signal,
    SignalFiles,
    SomeEvents,
    check_file,
    check_folder,
    explained,
    expression,
    know_folds,
    load_decorrelator,
    print_json,
    said,
    some_signal,
    warn_of_low_auc,
)


def report(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ],
    events: SomeEvents = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The HTML file to write.",
            rich_help_panel=OUTPUT,
        ),
    ] = "report.html",
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="MODEL",
            help="Compare with this other model of the same score; may be repeated.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Show these events of data beside the simulated background; may be repeated. "
            "Each event has weight one.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the figures as PDF and PNG into this folder. By default it has the name of "
            "the report with -figures at its end.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    score: Annotated[
        str | None,
        expression("The score in these files, if its name is not that of the fit."),
    ] = None,
    protect: HereProtected = None,
    background: Annotated[
        str | None,
        expression(
            "Events for which this holds are background, if that is not what it was in the fit."
        ),
    ] = None,
    signal: Signal = None,
    background_files: BackgroundFiles = None,
    signal_files: SignalFiles = None,
    selection: Selection = None,
    weight: Annotated[
        str | None,
        expression("The event weights in these files, if their name is not that of the fit."),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The title of the page.", rich_help_panel=PAGE),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TEXT",
            help="Call the score or an attribute by this text: mass='m_J [GeV]'; may be repeated.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    bins: Annotated[
        str,
        typer.Option(
            metavar="N|EDGES",
            help="Bins of the first attribute: how many, or their edges as 50,60,80,120.",
            rich_help_panel=PAGE,
        ),
    ] = "50",
    abcd: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Add a section on the ABCD method, where this protected attribute is the first of "
            "the two scores.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    nan: OnBadValues = "raise",
    fold_by: FoldBy = None,
    unblind: Annotated[
        bool,
        typer.Option(
            "--unblind",
            metavar="",
            help="Look also at events that were blinded in the fit.",
            rich_help_panel=EVENTS,
        ),
    ] = False,
    require_flat: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="Exit with 1 if the test of flatness has a p-value below P, such as 0.01. The cut "
            "keeps half of the signal, or of the background where there is no signal; a model made "
            "for one cut is tested at that cut. Only the statistical errors of the events count, "
            "not the error of the map.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show what a model does to the spectra of events, in one HTML file that needs no network.

    Give it background and signal that were not in the fit. Background alone is
    enough, as in a control region. Columns, selection, background and signal
    are those of the fit unless you name others.

    \b
    Examples:
      unsculpt report w.unsculpt test.root -o w-tagger.html
      unsculpt report w.unsculpt --json \\
          --background-files 'qcd*.parquet' --signal-files w.parquet
      unsculpt report w.unsculpt test.root --title 'W tagger, run 3' \\
          --label mass='m_J [GeV]' --bins 50,60,70,80,100,150
      unsculpt report spline.unsculpt test.root --with flow.unsculpt
      unsculpt report w.unsculpt simulation.root --data data.root
      unsculpt report second.unsculpt test.root --abcd first_score
    """  # noqa: D301
    check_file(output, ".html")
    folder = figures or str(Path(output).with_suffix("")) + "-figures"
    check_folder(folder, "--figures")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise typer.BadParameter(f"{folder} is not a folder", param_hint="--figures")
    edges = _bins(bins)
    start = time.perf_counter()
    here = {
        "score": [score] if score else None,
        "protected": protect,
        "background": background,
        "signal": signal,
        "weight": weight,
        "selection": selection,
        "background_files": background_files,
        "signal_files": signal_files,
    }
    with explained(quiet=quiet):
        from unsculpt import files
        from unsculpt.atomic import keep_inputs

        stream = files.scan_samples(events or [], background_files or [], signal_files or [])
        measured = files.scan_samples(data, [], []) if data else None
        of_data = measured.locations if measured else []
        read = [model, *(others or []), *(one.path for one in (*stream.locations, *of_data))]
        keep_inputs(output, *read)

        fitted = load_decorrelator(model)
        remembered = fitted.source_ or {}
        source, names = columns_of(remembered, here)
        known_here(source, here, [*stream.columns, files.FILE, files.ROW])
        know_folds(fitted, source, fold_by)
        if "blind" in remembered and not unblind:
            source["blind"] = remembered["blind"]
        models = compared(model, fitted, others or [], source)
        called = _labels(label or [], [*source["score"], *source["protected"]])
        notes = [
            note
            for name, one in models.items()
            for note in seen_in_the_fit(
                one.source_ or {}, stream.locations, of_data, name if others else "the model"
            )
        ]
        if "blind" in source:
            notes.append(f"events with {source['blind']} are left out, as the fit was blinded")
        said("Warning", notes)
        from unsculpt.progress import progress

        with progress("Reading", stream.rows) as advance:
            sample = files.read_sample(stream, source, nan=nan, advance=advance)
        some_signal(sample, source | {"signal": signal})
        notes += warn_of_low_auc(sample, source["score"])
        real = None
        if measured is not None:
            # Data has no truth and no weights, and is new to all folds.
            unknown = ("background", "signal", "background_files", "signal_files", "weight")
            own = source | dict.fromkeys((*unknown, "fold_by"))
            real = files.read_sample(measured, own, nan=nan)

        from unsculpt.report import write_report

        numbers = write_report(
            output,
            models if others else fitted,
            sample.scores,
            named_as_fitted(names, sample.protected),
            sample.label,
            sample_weight=sample.weight,
            event=sample.event,
            score_name=", ".join(called[name] for name in source["score"]),
            names=[called[name] for name in sample.protected],
            bins=edges,
            title=title,
            data=None if real is None else (real.scores, named_as_fitted(names, real.protected)),
            abcd=dict(zip(source["protected"], names, strict=True)).get(abcd or "", abcd),
            figures=folder,
            notes=notes,
            provenance={
                "Model file": ", ".join([model, *(others or [])]),
                "Columns": "; ".join(f"{role} {listed(text)}" for role, text in source.items()),
                "Files": ", ".join(map(str, stream.locations)),
                **({"Data": ", ".join(map(str, measured.locations))} if measured else {}),
                "Left out": f"{sample.dropped:,} events that were NaN or infinite",
                "Command": shlex.join(["unsculpt", *sys.argv[1:]]),
            },
        )
    flatness = numbers[1].flatness
    if as_json:
        answer = {"report": output, "figures": folder, "rows": sample.rows, "notes": notes}
        print_json(answer | {"numbers": [row.plain() for row in numbers]})
    elif not quiet:
        seconds = time.perf_counter() - start
        judged = int((sample.label == 0).sum())
        for row in numbers[1:]:
            if row.flatness is not None:
                at = "" if row.only_cut is None else f" cut at {row.only_cut:g}"
                typer.echo(f"The {row.score}{at} is {row.flatness.line(judged)}.")
        typer.echo(f"Wrote a report on {len(sample.label):,} events in {seconds:.0f} s.")
        typer.echo(f"Figures: {folder}\nOpen the report: {Path(output).resolve()}")
    if require_flat is not None and (
        flatness is None or flatness.statistics.p_value < require_flat
    ):
        found = "too few events to tell" if flatness is None else flatness.statistics.chance
        if flatness is not None and flatness.within_map:
            found += "; the error of the map explains it, but does not count here"
        typer.echo(f"Error: not flat by --require-flat {require_flat:g}: {found}", err=True)
        raise typer.Exit(1)


def _bins(text: str) -> int | list[float]:
    """Take a number of bins, or their edges."""
    try:
        return int(text) if "," not in text else [float(edge) for edge in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number of bins nor edges such as 50,60,80,120",
            param_hint="--bins",
        ) from None


def _labels(given: list[str], columns: list[str]) -> dict[str, str]:
    """Return what the page calls each column: its name, if nothing else is given."""
    called = {name: name for name in columns}
    for label in given:
        # The column may be an expression with an equals sign of its own.
        name = next((name for name in columns if label.startswith(f"{name}=")), None)
        if name is None:
            raise ValueError(
                f"--label {label!r} names no column of the report; expected COLUMN=TEXT with one "
                f"of {', '.join(columns)}"
            )
        called[name] = label.removeprefix(f"{name}=")
    return called
