"""`unsculpt info`: what is in a model file, or on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unsculpt.cli.shared import Json, Quiet, explained, few_or_many, print_json, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console


ROLES = ("selection", "background", "signal", "background_files", "signal_files", "weight", "blind")


def info(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ] = None,
    debug: Annotated[
        bool,
        typer.Option("--debug", metavar="", help="Show versions and devices, for a bug report."),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show what a model is, what it was fitted on and which columns it takes.

    With --quiet it only says what is wrong with the file, if anything is.

    \b
    Example:
      unsculpt info w-tagger.unsculpt
      unsculpt info --debug
    """  # noqa: D301
    if (model is None) != debug:
        raise typer.BadParameter("give a model file, or --debug for this machine")
    with explained(quiet=quiet):
        if model is None:
            found = _this_machine()
            print_json(found) if as_json else typer.echo(_listed(found))
            return
        from rich.console import Console

        from unsculpt.model_files import read_model

        arrays, metadata = read_model(model)
        if as_json:
            shapes = {name: list(array.shape) for name, array in arrays.items()}
            print_json({"model": model} | metadata | {"arrays": shapes})
            return
        try:
            _print(arrays, metadata, Console(quiet=quiet))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"{model} is incomplete or of another version ({error})") from None


def _this_machine() -> dict[str, str]:
    """Return what a bug report should say: versions of what we stand on, cores and devices."""
    import platform
    import re
    from contextlib import suppress
    from importlib.metadata import PackageNotFoundError, requires, version

    import jax

    from unsculpt.devices import cores

    needed = [re.split(r"[<>=!~ ;]", text)[0] for text in requires("unsculpt") or []]
    versions = {}
    for name in ("unsculpt", *dict.fromkeys(needed)):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": str(cores()),
        "devices": ", ".join(str(device) for device in jax.devices()),
        **versions,
    }


def _print(arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    columns = metadata.get("columns") or {}
    folds = metadata.get("models", [])
    layers = _layers(metadata)
    parameters: dict[str, Any] = {}
    for layer in reversed(layers):
        parameters |= {} if "models" in layer else layer["parameters"]
    if steps := layers[-1].get("steps"):
        parameters["steps"] = ", ".join(step["kind"] for step in steps)
    parameters.pop("decorrelator", None)
    # The models of folds leave it to what holds them.
    parameters |= {"outside": metadata["outside"]} if folds else {}
    size = sum(array.nbytes for array in arrays.values()) / 1e6
    rows = {
        "kind": " of ".join(layer["kind"] for layer in layers),
        "written by": f"unsculpt {metadata['version']}, {size:.1f} MB",
        "score": _scores(arrays, columns.get("score")),
        "protected": _protected(metadata.get("protected", []), columns.get("protected")),
        **{role.replace("_", " "): columns.get(role) for role in ROLES},
        "folds": _folds(len(folds), columns.get("fold_by")),
        "fitted on": _fitted_on(columns),
        "training": _listed(layers[-1].get("training", {})),
        "parameters": _listed(parameters),
    }
    grid = Table.grid(padding=(0, 2))
    for name, text in rows.items():
        if text:
            text = ", ".join(text) if isinstance(text, list) else text
            grid.add_row(f"[bold]{name}[/bold]", escape(printable(str(text))))
    console.print(grid)


def _layers(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a model and those it holds, one inside the other: of many alike the first."""
    held = metadata.get("models") or metadata.get("variables")
    held = held or [metadata[name] for name in ("decorrelator", "inner") if name in metadata]
    return [metadata, *(_layers(held[0]) if held else [])]


def _scores(arrays: dict[str, NDArray[Any]], names: list[str] | None) -> str:
    """Return the scores with the range of each in the fit, where the method keeps it."""
    count = sum(name.startswith("score.") and name.endswith(".quantiles") for name in arrays)
    ranges = (arrays[f"score.{i}.quantiles"][[0, -1]] for i in range(count))
    names = names or [f"column {i + 1} of the array" for i in range(count)]
    lines = ["{}: {:g} to {:g}".format(name, *r) for name, r in zip(names, ranges, strict=False)]
    return "\n".join(lines or names)


def _protected(fitted: list[Any], names: list[str] | None) -> str:
    """Return the protected attributes with the range or the values of each in the fit."""
    lines = []
    for attribute in (a for a in fitted if isinstance(a, dict)):
        if "categories" in attribute:
            values = f"one of {', '.join(map(str, attribute['categories']))}"
        else:
            values = "{:g} to {:g}".format(*attribute["range"])
        lines.append(f"{attribute['name']}: {values}")
    return "\n".join(lines or names or [])


def _folds(count: int, fold_by: str | None) -> str:
    if not count:
        return ""
    return f"{count}: {fold_by or 'the event number'} modulo {count}"


def _fitted_on(columns: dict[str, Any]) -> str:
    if "events" not in columns:
        return ""
    return f"{columns['events']:,} events of {few_or_many(columns['files'], 'files')}"


def _listed(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {_number(value)}" for name, value in values.items())


def _number(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
