"""`unsculpt fit`: a decorrelator from events in files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unsculpt.cli.fit_summary import print_counted, print_fit, print_read
from unsculpt.cli.settings import (
    check_columns,
    first_that_fits,
    known_method,
    new_decorrelator,
    parsed_settings,
    suggest_categories,
)
from unsculpt.cli.shared import (
    EVENTS,
    METHOD,
    OUTPUT,
    BackgroundFiles,
    CategoricalNames,
    Json,
    OnBadValues,
    Quiet,
    Scheduler,
    Selection,
    Settings,
    Signal,
    SignalFiles,
    SomeEvents,
    Workers,
    check_file,
    cluster_if_any,
    explained,
    expression,
    not_empty,
    print_json,
    said,
    some_signal,
    warn_of_low_auc,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from unsculpt.cli.judging import Verdict
    from unsculpt.decorrelators import Decorrelator
    from unsculpt.files import Sample, Stream


def fit(
    events: SomeEvents = None,
    *,
    score: Annotated[
        list[str],
        typer.Option(
            metavar="EXPR",
            help="The score to decorrelate: a column or an expression; may be repeated.",
            rich_help_panel=EVENTS,
        ),
    ],
    protect: Annotated[
        list[str],
        typer.Option(
            metavar="EXPR",
            help="An attribute that the score must not know: a column or an expression. Text makes "
            "categories; may be repeated.",
            rich_help_panel=EVENTS,
        ),
    ],
    selection: Selection = None,
    background: Annotated[
        str | None,
        expression(
            "Events for which this holds are background, such as 'label == 0'. If neither "
            "background nor signal is named, all selected events are background."
        ),
    ] = None,
    signal: Signal = None,
    background_files: BackgroundFiles = None,
    signal_files: SignalFiles = None,
    weight: Annotated[
        str | None,
        expression("The event weights, of either sign."),
    ] = None,
    blind: Annotated[
        str | None,
        expression(
            "Do not look at these events, such as '70 < mass < 100'. The fit interpolates "
            "between the events on both sides."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            callback=known_method,
            metavar="METHOD",
            # In words, as to look them up takes a second; a test compares them with the registry.
            help="How to decorrelate: ddt, flow, knn, quantile, spline. By default spline, or flow "
            "if there are too many attributes for spline.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    settings: Settings = None,
    categorical: CategoricalNames = None,
    outside: Annotated[
        Literal["clip", "raise", "nan"],
        typer.Option(
            metavar="clip|raise|nan",
            help="When the model is applied, an event beyond the range of the fit is treated as at "
            "its end, is an error, or gets NaN.",
            rich_help_panel=METHOD,
        ),
    ] = "clip",
    nan: OnBadValues = "raise",
    hold_out: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            min=0,
            max=0.9,
            help="Keep this fraction of the background to judge the model on. By default 0.2.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Hold out nothing: divide the events into N folds, and transform and judge each "
            "fold by a model that was fitted on the other folds.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    fold_by: Annotated[
        str | None,
        typer.Option(
            callback=not_empty,
            metavar="EXPR",
            help="A whole number, such as the event number. Divided by N, its remainder is the "
            "fold of the event. By default the number of the row.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Seed of all that is random; the same events and seed give the same model.",
            rich_help_panel=METHOD,
        ),
    ] = 0,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The model file to write.",
            rich_help_panel=OUTPUT,
        ),
    ],
    quiet: Quiet = False,
    as_json: Json = False,
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Fit a decorrelator on the background in files and judge it on events held out.

    A fifth of the background is held out: it judges the model that is fitted
    on the rest. The model file remembers its columns, so 'unsculpt apply' needs
    only the model and events.

    Background is what --background or --background-files name, or all events
    if there is neither. Signal is what --signal or --signal-files name. It is
    not needed for the fit, only for the numbers that the command prints.

    \b
    Examples:
      unsculpt fit events.root --score tagger --protect mass \\
          --background 'label == 0' --signal 'label == 1' -o w.unsculpt
      unsculpt fit --background-files 'QCD*.root:Events' \\
          --signal-files W.root:Events --score 'log(dnn)' \\
          --protect mass --protect pt --weight w \\
          --selection 'pt > 300' -o dnn.unsculpt
    """  # noqa: D301
    check_file(output)
    if folds is None and fold_by is not None:
        raise typer.BadParameter("it needs --folds, say 5", param_hint="--fold-by")
    if folds is not None and hold_out is not None:
        raise typer.BadParameter(
            "with --folds nothing is held out; leave one of them away", param_hint="--hold-out"
        )
    with explained(quiet=quiet):
        from unsculpt.atomic import keep_inputs
        from unsculpt.files import ROW, cluster, read_sample, scan_samples
        from unsculpt.progress import progress

        stream = scan_samples(events or [], background_files or [], signal_files or [])
        keep_inputs(output, *(location.path for location in stream.locations))
        source: dict[str, Any] = {
            "score": score,
            "protected": protect,
            "background": background,
            "signal": signal,
            "weight": weight,
        }
        more = {
            "selection": selection,
            "background_files": background_files,
            "signal_files": signal_files,
            "categorical": categorical,
            "blind": blind,
        }
        source |= {role: given for role, given in more.items() if given}
        check_columns(score, protect, categorical or [])
        if folds is not None:
            source["fold_by"] = fold_by or ROW
        if method is None and len(protect) > 2:
            method = "flow"
        if settings:
            method = method or "spline"
        parameters = parsed_settings(settings or [], method)
        clustered = scheduler is not None or workers is not None
        # One histogram has no folds.
        to_read, to_count = _shares(stream, method, clustered and folds is None)
        with cluster_if_any(scheduler, workers) as client:
            with progress("Reading", to_read.rows) as advance:
                if client is None or to_count:
                    sample = read_sample(to_read, source, nan=nan, advance=advance)
                else:
                    sample = cluster.read_sample(client, to_read, source, nan=nan, advance=advance)
            if to_count is None:  # or it may be in the other files
                some_signal(sample, source)
            background_events = sample.label == 0
            if folds is None:
                share = 0.2 if hold_out is None else hold_out
                held = background_events & _some(len(sample.label), share, seed)
                to_fit = sample[background_events & ~held]
            else:
                held, to_fit = background_events, sample[background_events]
            if not quiet and not as_json:
                print_read(to_read, sample)
            notes = warn_of_low_auc(sample, score)
            if blind and not sample.blinded and to_count is None:
                nothing = f"--blind {blind!r} holds for none of {sample.rows:,} rows"
                notes += said("Warning", [f"{nothing}: the fit looks at all events"])
            notes += suggest_categories(sample, source)
            start = time.perf_counter()
            # Only splines can count on a cluster: there is no other way to fall back to.
            with progress("Fitting"):
                model: Any = _fit(
                    "spline" if to_count else method,
                    folds,
                    to_fit,
                    parameters,
                    chosen=categorical or (),
                    outside=outside,
                    seed=seed,
                )
            fitted_on = len(to_fit.scores)
            if client is not None and to_count:
                with progress("Counting", to_count.rows) as advance:
                    model = cluster.fit_histograms(
                        client, model, to_count, source, nan=nan, advance=advance
                    )
                fitted_on = model.events_
                if not quiet and not as_json:
                    print_counted(to_count)
        paths = [str(location) for location in stream.locations]
        sizes = [location.path.stat().st_size for location in stream.locations]
        model.source_ = source | {"events": fitted_on, "files": paths, "sizes": sizes}
        model.save(output)
        answer: dict[str, Any] = {
            "model": output,
            "method": type(model if folds is None else model.models_[0]).__name__,
            "folds": folds,
            "columns": source,
            "files": len(stream.sources),
            "rows": sample.rows,
            "dropped": sample.dropped,
            "others": sample.others,
            "background": int(background_events.sum()),
            "signal": int((~background_events).sum()),
            "fitted_on": fitted_on,
            "held_out": int(held.sum()),
            "seconds": time.perf_counter() - start,
            "judged": [],
            "flatness": [],
            "notes": notes,
        }
        lines = []
        if held.any():
            from unsculpt.cli.judging import decorrelated, judge, verdicts

            with progress("Judging"):
                unseen = sample[held | ~background_events]
                judged_on = model, unseen, decorrelated(model, unseen)
                answer["judged"] = _unless_impossible(judge, *judged_on)
                found: list[Verdict] = _unless_impossible(verdicts, *judged_on)
            answer["flatness"] = [verdict.plain() for verdict in found]
            lines = [verdict.line for verdict in found]
            # What is flat within the error of the map says already what helps.
            if not all(v.test is None or v.test.flat or v.test.within_map for v in found):
                lines.append(_advice(answer["method"], len(protect)))
    if as_json:
        print_json(answer)
    elif not quiet:
        print_fit(answer, lines)


def _advice(method: str, attributes: int) -> str:
    """Say what may help where a fit is not flat."""
    if method == "DDTDecorrelator":  # more events do not bend a line
        return "A DDT is flat only where a straight shift of the score is enough: --method spline."
    other = "flow" if method == "SplineDecorrelator" or attributes > 2 else "spline"
    could = "" if method == "FlowDecorrelator" and other == "flow" else f", or --method {other}"
    return f"More background to fit on may help{could}."


def _shares(stream: Stream, method: str | None, clustered: bool) -> tuple[Stream, Stream | None]:
    """Return the files to read here and, for histograms on a cluster, those to count there.

    The first file sets the bins, and its events that are held out judge the model.
    """
    if not clustered or method not in ("spline", None) or len(stream.sources) == 1:
        return stream, None
    locations, sources = stream.locations, stream.sources
    return type(stream)(locations[:1], sources[:1]), type(stream)(locations[1:], sources[1:])


def _some(events: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Draw events at random, other ones for another seed."""
    import numpy as np

    return np.random.default_rng([seed, 3]).uniform(size=events) < fraction


def _fit(
    method: str | None,
    folds: int | None,
    sample: Sample,
    parameters: dict[str, Any],
    **options: Any,
) -> Decorrelator:
    """Fit the method, or the default one."""
    from unsculpt.decorrelators import CrossFit

    def fitted(name: str) -> Decorrelator:
        model = new_decorrelator(name, sample, parameters, **options)
        events = sample.scores, sample.protected
        if folds is None:
            return model.fit(*events, sample_weight=sample.weight)
        crossed = CrossFit(model, folds)
        return crossed.fit(*events, event=sample.event, sample_weight=sample.weight)

    return first_that_fits(fitted, method)


def _unless_impossible(judge: Callable[..., list[Any]], *events: Any) -> list[Any]:
    """Judge the model; it is written already, so that a failure here is a note."""
    try:
        return judge(*events)
    except ValueError as error:
        typer.echo(f"Note: the model could not be judged: {error}", err=True)
        return []
