"""`unsculpt check`: what signal in the sample of a fit would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from unsculpt.cli.settings import (
    check_columns,
    first_that_fits,
    known_method,
    new_decorrelator,
    parsed_settings,
)
from unsculpt.cli.shared import (
    EVENTS,
    METHOD,
    BackgroundFiles,
    CategoricalNames,
    Json,
    OnBadValues,
    Quiet,
    Selection,
    Settings,
    Signal,
    SignalFiles,
    SomeEvents,
    explained,
    expression,
    print_json,
    warn_of_low_auc,
)

if TYPE_CHECKING:
    from rich.table import Table

    from unsculpt.report.injection import Injected


def check(
    score: Annotated[
        str,
        typer.Option(
            metavar="EXPR",
            help="The score to decorrelate: a column or an expression.",
            rich_help_panel=EVENTS,
        ),
    ],
    protect: Annotated[
        list[str],
        typer.Option(
            metavar="EXPR",
            help="An attribute that the score must not know: a column or an expression; may be "
            "repeated. The bump is searched for along the first.",
            rich_help_panel=EVENTS,
        ),
    ],
    events: SomeEvents = None,
    selection: Selection = None,
    background: Annotated[
        str | None,
        expression("Events for which this holds are background, such as 'label == 0'."),
    ] = None,
    signal: Signal = None,
    background_files: BackgroundFiles = None,
    signal_files: SignalFiles = None,
    weight: Annotated[
        str | None,
        expression("The event weights, of either sign."),
    ] = None,
    strength: Annotated[
        list[float] | None,
        typer.Option(
            metavar="RATIO",
            help="Put this much signal into the fit, as a fraction of the background; may be "
            "repeated. By default 0.001, 0.01 and 0.1.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    keep: Annotated[
        float,
        typer.Option(
            metavar="FRACTION",
            min=0,
            max=1,
            help="The cut before the search keeps this fraction of the events.",
            rich_help_panel=METHOD,
        ),
    ] = 0.01,
    method: Annotated[
        str | None,
        typer.Option(
            callback=known_method,
            metavar="METHOD",
            help="How to decorrelate, as for 'unsculpt fit'.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    settings: Settings = None,
    categorical: CategoricalNames = None,
    nan: OnBadValues = "raise",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Seed of the division of the events into two halves.",
            rich_help_panel=METHOD,
        ),
    ] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Put some signal into the background of a fit and say what it changes.

    This is for fits on data, which may hold signal. One half of the events is
    fitted twice, without and with signal. The other half gets the same
    fraction of signal. Both models cut on it, and a bump is searched for in
    what passes.

    \b
    Example:
      unsculpt check mc.root --score tagger --protect mass \\
          --background 'label == 0' --signal 'label == 1' \\
          --strength 0.01 --strength 0.05
    """  # noqa: D301
    with explained(quiet=quiet):
        from unsculpt.files import read_sample, scan_samples
        from unsculpt.progress import progress

        if not signal and not signal_files:
            raise ValueError(
                "it is not said which events are signal; expected --signal or --signal-files"
            )
        stream = scan_samples(events or [], background_files or [], signal_files or [])
        check_columns([score], protect, categorical or [])
        if settings:
            method = method or "spline"
        parameters = parsed_settings(settings or [], method)
        source = {
            "score": [score],
            "protected": protect,
            "background": background,
            "signal": signal,
            "weight": weight,
            "selection": selection,
            "background_files": background_files,
            "signal_files": signal_files,
            "categorical": categorical,
        }
        with progress("Reading", stream.rows) as advance:
            sample = read_sample(stream, source, nan=nan, advance=advance)
        notes = warn_of_low_auc(sample, [score])

        from unsculpt.report.injection import inject_signal

        def found_by(name: str) -> list[Injected]:
            return inject_signal(
                new_decorrelator(name, sample, parameters, categorical or (), seed=seed),
                sample.scores,
                sample.protected,
                sample.label,
                strength or (0.001, 0.01, 0.1),
                efficiency=keep,
                sample_weight=sample.weight,
                seed=seed,
            )

        found = first_that_fits(found_by, method)
    if as_json:
        print_json({"injected": [one.plain() for one in found], "notes": notes})
    elif not quiet:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(_table(found))
        console.print(
            "[dim]With a map fitted without the signal → with it, after a cut that keeps "
            f"{100 * keep:.4g}% of the events. Map moves: mean change of the new score of "
            "background, in brackets in units of the map's own error. Bump found: the excess in "
            "the window of the signal over a smooth function fitted beside it, in errors.[/dim]"
        )


def _table(found: list[Injected]) -> Table:
    from rich.table import Table

    table = Table("signal in the fit", "map moves", "signal kept", "bump found")
    for one in found:
        moved = f"{one.moved:.4f}" + (f" ({one.errors:.1f})" if one.errors is not None else "")
        both = one.clean, one.polluted
        kept = " → ".join(f"{found.signal:.1%}" for found in both)
        bump = " → ".join(f"{found.excess / found.error:.1f}" for found in both)
        table.add_row(f"{100 * one.strength:.4g}%", moved, kept, bump)
    return table
