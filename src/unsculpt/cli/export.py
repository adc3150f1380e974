"""``unsculpt export``: a fitted model for other programs."""

from pathlib import Path
from typing import Annotated

import typer


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
) -> None:
    """Write a model for ONNX, correctionlib or TorchScript, by the ending of the file.

    Example: unsculpt export w-tagger.unsculpt -o w-tagger.onnx
    """
    endings = (".onnx", ".json", ".pt")
    if output.suffix not in endings:
        raise typer.BadParameter(
            f"{output} ends in {output.suffix!r}; expected one of {', '.join(endings)}",
            param_hint="--output",
        )
    import unsculpt as us
    from unsculpt.export import to_correctionlib, to_onnx, to_torchscript

    try:
        fitted = us.load(model)
        if output.suffix == ".onnx":
            to_onnx(fitted, output)
        elif output.suffix == ".json":
            to_correctionlib(fitted, output, tolerance=tolerance)
        else:
            to_torchscript(fitted, output)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"Wrote {output}, {output.stat().st_size / 1e6:.2g} MB")
