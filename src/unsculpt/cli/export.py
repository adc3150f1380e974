"""``unsculpt export``: a fitted model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from unsculpt.cli.shared import (
    OUTPUT,
    Amount,
    Json,
    Quiet,
    To,
    Variations,
    check_file,
    explained,
    place,
    print_json,
)


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write: .hpp for C++, .onnx, .json or .json.gz for correctionlib, "
            "or .pt for TorchScript.",
            rich_help_panel=OUTPUT,
        ),
    ],
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="For correctionlib: the largest difference to the model. By default 0.001 of the "
            "new score, 0.01 where there are two attributes. With --efficiency it is the relative "
            "difference of the fraction kept, by default 0.01. With --to it is the difference of "
            "the level from which the score moves, or of the moved score as a fraction of its "
            "range, by default 0.01.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    efficiency: Annotated[
        list[float] | None,
        typer.Option(
            metavar="FRACTION",
            help="For correctionlib: write the cut on the score that keeps this fraction of the "
            "background, instead of the new score; may be repeated.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    single: Annotated[
        bool,
        typer.Option(
            "--single",
            metavar="",
            help="For ONNX: take inputs of single precision (float).",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    variations: Variations = 0,
    to: To = None,
    amount: Amount = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a model for C++, ONNX, correctionlib or TorchScript, by the ending of the file.

    \b
    Examples:
      unsculpt export w-tagger.unsculpt -o w-tagger.hpp
      unsculpt export w-tagger.unsculpt -o w-tagger.onnx
      unsculpt export w-tagger.unsculpt -o cuts.json --efficiency 0.05
      unsculpt export w-tagger.unsculpt -o w-tagger.json --tolerance 1e-4
      unsculpt export w-tagger.unsculpt -o w-tagger.onnx --variations 20
      unsculpt export w-tagger.unsculpt -o moved.json --to mass=125 --amount 0.7
    """  # noqa: D301
    check_file(str(output), ".hpp", ".onnx", ".json", ".json.gz", ".pt")
    ending, where = output.name.lower().removesuffix(".gz"), place(to, amount)
    ending = ending[ending.rindex(".") :]
    if variations and (ending == ".pt" or efficiency):
        raise typer.BadParameter(
            "a .pt file and a map of cuts hold one map; write .hpp, .onnx or .json",
            param_hint="--variations",
        )
    if where and efficiency:
        raise typer.BadParameter("a map of cuts holds cuts, which do not move", param_hint="--to")
    for given, of, option in (
        (efficiency, ".json", "--efficiency"),
        (tolerance is not None, ".json", "--tolerance"),
        (single, ".onnx", "--single"),
    ):
        if given and ending != of:
            raise typer.BadParameter(f"is for {of} files, not for {output}", param_hint=option)
    with explained(quiet=quiet):
        import unsculpt as us
        import unsculpt.export as targets
        from unsculpt.atomic import keep_inputs

        keep_inputs(output, model)
        fitted = us.load(model)
        if where:
            fitted = fitted._elsewhere(**where)
        if ending == ".hpp":
            targets.to_cpp(fitted, output, variations=variations)
        elif ending == ".onnx":
            targets.to_onnx(fitted, output, variations=variations, single=single)
        elif efficiency:
            targets.to_working_points(
                fitted, output, efficiency, tolerance=1e-2 if tolerance is None else tolerance
            )
        elif ending == ".json":
            targets.to_correctionlib(fitted, output, tolerance=tolerance, variations=variations)
        else:
            targets.to_torchscript(fitted, output)
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "bytes": size})
    elif not quiet:
        typer.echo(f"Wrote {output}, {float(f'{size / 1e6:.2g}'):g} MB")
