"""``unsculpt generate``: make jets with Pythia and FastJet."""

import time
from pathlib import Path
from typing import Annotated

import typer

from unsculpt.cli.shared import Json, Quiet, explained, print_json


def generate(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The Parquet file to write.")],
    qcd: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of quark and gluon jets.")
    ] = 10_000,
    w: Annotated[int, typer.Option(metavar="N", min=0, help="Number of W jets.")] = 10_000,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Number of top jets.")] = 0,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Seed of the generator; the same seed gives the same jets."
        ),
    ] = 1,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of processes. By default one for each core."),
    ] = None,
    detector: Annotated[bool, typer.Option(metavar="", help="Simulate a calorimeter.")] = True,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Generate jets of 300 to 400 GeV; interrupted, it resumes where it stopped.

    Pythia and FastJet come with the extra: pip install 'unsculpt[generate]'.

    \b
    Example:
      unsculpt generate jets.parquet --qcd 50000 --w 20000
    """  # noqa: D301
    start = time.perf_counter()
    with explained(quiet=quiet):
        from unsculpt.datasets import generate as make

        make(path, qcd=qcd, w=w, top=top, seed=seed, workers=workers, detector=detector)
    seconds, jets = time.perf_counter() - start, {"qcd": qcd, "w": w, "top": top}
    if as_json:
        print_json({"file": str(path), "jets": jets, "seed": seed, "seconds": seconds})
    elif not quiet:
        typer.echo(f"Wrote {sum(jets.values()):,} jets in {seconds:.0f} s: {path}")
