"""What the commands share: options, errors in one line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from distributed import Client

    from unsculpt import Decorrelator
    from unsculpt.files import Sample

EXIT_CODES = (
    "Exit codes: 0 done, 1 the work failed or a score is not flat as required (the last line says "
    "why), 2 wrong arguments, 130 interrupted, 143 ended by SIGTERM."
)

# The groups of options in the help.
EVENTS, METHOD, OUTPUT, CLUSTER = "Events", "Method", "Output", "Cluster"
PAGE = "What the page shows"


def not_empty(text: str | None) -> str | None:
    """Refuse an expression of nothing, as of a shell variable that is not set."""
    if text is not None and not text.strip():
        raise typer.BadParameter("is empty; give an expression, or leave the option away")
    return text


def expression(words: str) -> Any:
    """Return an option that takes an expression over the columns, with this help."""
    return typer.Option(callback=not_empty, metavar="EXPR", help=words, rich_help_panel=EVENTS)


FILES = "Files of events, patterns in quotes, trees in files: a.root 'run*.parquet' b.root:Events."
Events = Annotated[list[str], typer.Argument(metavar="EVENTS", help=FILES)]
SomeEvents = Annotated[
    list[str] | None, typer.Argument(metavar="EVENTS", help=FILES, show_default=False)
]
Selection = Annotated[
    str | None,
    expression("Look only at events for which this holds, such as 'pt > 350'."),
]
BackgroundFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="A file, or a pattern in quotes, all of whose events are background; may be repeated.",
        rich_help_panel=EVENTS,
    ),
]
SignalFiles = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="A file, or a pattern in quotes, all of whose events are signal; may be repeated.",
        rich_help_panel=EVENTS,
    ),
]
Signal = Annotated[
    str | None,
    expression("Events for which this holds are signal, such as 'label == 1'."),
]
HereProtected = Annotated[
    list[str] | None,
    typer.Option(
        "--protect",
        metavar="EXPR",
        help="A protected attribute in these files, if its name is not that of the fit. Give all, "
        "in the order of the fit.",
        rich_help_panel=EVENTS,
    ),
]
OnBadValues = Annotated[
    Literal["raise", "drop"],
    typer.Option(
        metavar="raise|drop",
        help="An event whose score, attribute or weight is NaN or infinite is an error, or is "
        "left out.",
        rich_help_panel=EVENTS,
    ),
]
CategoricalNames = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="The numbers of this protected attribute are categories (text always is); may be "
        "repeated.",
        rich_help_panel=METHOD,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the method: epochs=20 or quantiles=0.5,0.9; may be repeated.",
        rich_help_panel=METHOD,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", metavar="", help="Print errors only.", rich_help_panel=OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar="", help="Print one JSON object, for scripts.", rich_help_panel=OUTPUT
    ),
]
Variations = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Add N pairs of maps, shifted up and down by the statistical error of the map.",
        rich_help_panel=OUTPUT,
    ),
]
To = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PLACE",
        help="Move the score to a value of the attribute (125, mass=125, sample=data) or to the "
        "barycentre, instead of flattening it; may be repeated, once for each attribute.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Amount = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        min=0,
        max=1,
        help="With --to, move the score by this fraction of the way. By default all of it.",
        rich_help_panel=OUTPUT,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Work on the Dask cluster at this address, such as tcp://host:8786.",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Work in N processes of this machine.", rich_help_panel=CLUSTER
    ),
]
FoldBy = Annotated[
    str | None,
    expression(
        "The column that tells the fold of an event, for a model with folds that does not "
        "know the column."
    ),
]


def place(to: list[str] | None, amount: float | None) -> dict[str, Any]:
    """Return where to move scores, and how far, as `model.move` has it; nothing if not asked."""
    if not to:
        if amount is not None:
            raise typer.BadParameter(
                "says how far to move: expected --to as well", param_hint="--amount"
            )
        return {}
    how_far = {"amount": 1.0 if amount is None else amount}
    pairs = [text.rpartition("=") for text in to]
    if len(to) == 1 and not pairs[0][1]:
        return {"to": to[0], **how_far}
    values = {name.strip(): value.strip() for name, _, value in pairs}
    if not all(values) or len(values) < len(to):
        raise typer.BadParameter(
            f"got {' and '.join(to)}; expected one NAME=VALUE for each attribute that moves",
            param_hint="--to",
        )
    return {"to": values, **how_far}


def some_signal(sample: Sample, source: dict[str, Any]) -> None:
    """Refuse a condition for signal that holds for no event."""
    from unsculpt.files.sample import none_left

    if source["signal"] and not sample.label.any():
        raise ValueError(
            f"no signal is left of {sample.rows:,} rows{none_left(source, 'signal')}; leave "
            "--signal away to look at background alone"
        )


def warn_of_low_auc(sample: Sample, scores: list[str]) -> list[str]:
    """Say so where background has the higher score: signal may not be what it should be."""
    from unsculpt import metrics

    if not sample.label.any() or sample.label.all():
        return []
    notes = []
    columns = sample.scores.reshape(len(sample.label), -1)
    for name, column in zip(scores, columns.T, strict=True):
        try:
            area = metrics.auc(column, sample.label, sample_weight=sample.weight)
        except ValueError:  # of weights that cancel: who needs the number says so
            continue
        if area < 0.5:
            notes.append(
                f"signal has a lower {name} than background, AUC {area:.2f}; is --signal what it "
                f"should be? If low is signal, use '-({name})' as the score"
            )
    return said("Warning", notes)


def said(kind: str, notes: list[str]) -> list[str]:
    """Print notes on stderr, each in a line that begins with what kind it is; return them."""
    for note in notes:
        typer.echo(f"{kind}: {printable(note)}", err=True)
    return notes


def show_warning(message: Warning | str, *where: Any) -> None:
    """Print a warning of the library as a sentence, without the line of code it came from."""
    said("Warning", [" ".join(str(message).split())])


def know_folds(model: Decorrelator, source: dict[str, Any], fold_by: str | None) -> None:
    """Add to the columns what tells the folds of a CrossFit, or warn that nothing does."""
    from unsculpt.decorrelators import CrossFit

    if not isinstance(model, CrossFit):
        if fold_by is not None:
            raise ValueError(f"--fold-by is for a CrossFit; the model is a {type(model).__name__}")
    elif fold_by is not None:
        source["fold_by"] = fold_by
    elif not source.get("fold_by"):
        typer.echo(
            "Warning: the model is a CrossFit that does not know what tells the fold of an event. "
            "Events of its fit are transformed by models that have seen them; name the column with "
            "--fold-by",
            err=True,
        )


def few_or_many(names: list[str], what: str) -> str:
    """List names, or the first and the last of them if the list would fill the screen."""
    if len(names) <= 5:
        return ", ".join(names)
    return f"{len(names):,} {what}, {names[0]} to {names[-1]}"


def printable(text: str) -> str:
    """Return text of a file with its control characters spelled out: a terminal obeys them."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


@contextmanager
def explained(*, quiet: bool = False) -> Iterator[None]:
    """Run a command: what goes wrong becomes one line and exit code 1."""
    if quiet:
        os.environ["TTY_COMPATIBLE"] = "0"  # no progress bars, not from the library either
    try:
        if quiet or not sys.stderr.isatty():
            yield
            return
        from unsculpt.progress import progress

        with progress("Loading"):  # until the work itself says what it does
            yield
    except (OSError, ValueError, ModuleNotFoundError, MemoryError, NotImplementedError) as error:
        words = re.sub(r"^\[Errno \d+\] ", "", " ".join(str(error).split()))
        words = words or type(error).__name__
        typer.echo(f"Error: {printable(words)}", err=True)
        raise typer.Exit(1) from None


@contextmanager
def cluster_if_any(scheduler: str | None, workers: int | None) -> Iterator[Client | None]:
    """Give a client of the cluster that was asked for, or None."""
    if scheduler is None and workers is None:
        yield None
        return
    from unsculpt.files.cluster import connected

    with connected(scheduler, workers) as client:
        yield client


def print_json(answer: dict[str, Any]) -> None:
    """Print an answer for scripts; JSON has no NaN and no infinity."""
    typer.echo(json.dumps(_finite(answer), indent=2))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def load_decorrelator(model: str) -> Decorrelator:
    """Read a model; refuse a classifier."""
    from unsculpt import Decorrelator, load

    fitted = load(model)
    if not isinstance(fitted, Decorrelator):
        raise ValueError(f"{model} is not a decorrelator but a {type(fitted).__name__}")
    return fitted


def check_file(output: str, *endings: str, option: str = "--output") -> None:
    """Refuse a file that cannot be written, or that ends in another way, before the work."""
    check_folder(output, option)
    if os.path.isdir(output):
        raise typer.BadParameter(f"{output} is a folder", param_hint=option)
    if endings and not output.lower().endswith(endings):
        raise typer.BadParameter(
            f"{output} should end in {' or '.join(endings)}", param_hint=option
        )


def check_folder(output: str, option: str = "--output") -> None:
    """Refuse a file in a folder that is not there or is read-only, before the work."""
    if "://" in output:
        raise typer.BadParameter(
            f"{output} is a URL, which can only be read; write to a file here", param_hint=option
        )
    path = re.sub(r"(\.\w+):[^:]*$", r"\1", output)  # what follows in a.h5:jets/all is inside
    folder = path if os.path.isdir(path) else os.path.dirname(path.rstrip("/")) or "."
    if not os.path.isdir(folder):
        raise typer.BadParameter(f"there is no folder {folder}", param_hint=option)
    if not os.access(folder, os.W_OK):
        raise typer.BadParameter(f"nothing can be written into {folder}", param_hint=option)
