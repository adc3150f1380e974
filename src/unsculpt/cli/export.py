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
            help="model.onnx, model.json (correctionlib) or model.pt (TorchScript).",
        ),
    ],
    tolerance: Annotated[
        float, typer.Option(help="Largest difference to the model, for correctionlib.")
    ] = 1e-3,
    variations: Variations = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a model for ONNX, correctionlib or TorchScript, by the ending of the file.

    \b
    Examples:
      unsculpt export w-tagger.unsculpt -o w-tagger.onnx
      unsculpt export w-tagger.unsculpt -o w-tagger.json --tolerance 1e-4
      unsculpt export w-tagger.unsculpt -o w-tagger.onnx --variations 20
    """  # noqa: D301
    check_file(str(output), ".onnx", ".json", ".pt")
    if variations and output.suffix.lower() == ".pt":
        raise typer.BadParameter(
            "a .pt file holds one map; write .onnx or .json", param_hint="--variations"
        )
    with explained(quiet=quiet):
        import unsculpt as us
        from unsculpt.atomic import keep_inputs
        from unsculpt.export import to_correctionlib, to_onnx, to_torchscript

        keep_inputs(output, model)
        fitted, ending = us.load(model), output.suffix.lower()
        if ending == ".onnx":
            to_onnx(fitted, output, variations=variations)
        elif ending == ".json":
            to_correctionlib(fitted, output, tolerance=tolerance, variations=variations)
        else:
            to_torchscript(fitted, output)
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "bytes": size})
    elif not quiet:
        typer.echo(f"Wrote {output}, {size / 1e6:.2g} MB")
