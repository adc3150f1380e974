"""``unsculpt export``: a fitted model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from unsculpt.cli.shared import Json, Quiet, Variations, check_file, explained, print_json


def export(
    model: Annotated[Path, typer.Argument(help="A model that `unsculpt fit` or `save` wrote.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="model.hpp (C++), model.onnx, model.json (correctionlib) or model.pt "
            "(TorchScript).",
        ),
    ],
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="For correctionlib: largest difference to the model, 0.001 unless given; with "
            "--efficiency the share of it by which it may be missed, 0.01 unless given."
        ),
    ] = None,
    efficiency: Annotated[
        list[float] | None,
        typer.Option(
            help="Write the cut on the score that keeps this share of the background, for "
            "correctionlib. May be given several times."
        ),
    ] = None,
    single: Annotated[
        bool, typer.Option("--single", help="ONNX: the inputs are single precision (float).")
    ] = False,
    variations: Variations = 0,
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
    """  # noqa: D301
    check_file(str(output), ".hpp", ".onnx", ".json", ".pt")
    ending = output.suffix.lower()
    if variations and (ending == ".pt" or efficiency):
        raise typer.BadParameter(
            "a .pt file and a map of cuts hold one map; write .hpp, .onnx or .json",
            param_hint="--variations",
        )
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
        if ending == ".hpp":
            targets.to_cpp(fitted, output, variations=variations)
        elif ending == ".onnx":
            targets.to_onnx(fitted, output, variations=variations, single=single)
        elif efficiency:
            targets.to_working_points(
                fitted, output, efficiency, tolerance=1e-2 if tolerance is None else tolerance
            )
        elif ending == ".json":
            targets.to_correctionlib(
                fitted,
                output,
                tolerance=1e-3 if tolerance is None else tolerance,
                variations=variations,
            )
        else:
            targets.to_torchscript(fitted, output)
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "bytes": size})
    elif not quiet:
        typer.echo(f"Wrote {output}, {size / 1e6:.2g} MB")
