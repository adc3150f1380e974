"""The `unsculpt` command: one file a command, thin over the library."""

from typing import Annotated

import typer

from unsculpt.cli.apply import apply
from unsculpt.cli.check import check
from unsculpt.cli.demo import demo
from unsculpt.cli.export import export
from unsculpt.cli.fit import fit
from unsculpt.cli.generate import generate
from unsculpt.cli.info import info
from unsculpt.cli.report import report
from unsculpt.cli.reproduce import reproduce
from unsculpt.cli.shared import EXIT_CODES

app = typer.Typer(
    name="unsculpt",
    help="Take a discriminant that sculpts a spectrum and return one that does not.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"unsculpt {version('unsculpt')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take a discriminant that sculpts a spectrum and return one that does not."""


for command in (demo, fit, apply, report, export, check, info, generate, reproduce):
    app.command(epilog=EXIT_CODES)(command)
