"""The `unsculpt` command: one file a command, thin over the library."""

import typer

from unsculpt.cli.demo import demo
from unsculpt.cli.export import export
from unsculpt.cli.generate import generate
from unsculpt.cli.reproduce import reproduce

app = typer.Typer(
    name="unsculpt",
    help="Take a discriminant that sculpts a spectrum and return one that does not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(export)
app.command()(generate)
app.command()(reproduce)
