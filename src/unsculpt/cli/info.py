"""`unsculpt info`: what is in a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from unsculpt.cli.shared import Json, explained, print_json


def info(
    model: Annotated[str, typer.Argument(help="A model file.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Show what a model is, what it was fitted on and which columns it takes.

    \b
    Example:
      unsculpt info w-tagger.unsculpt
    """  # noqa: D301
    with explained():
        from unsculpt.models.files import read_model

        arrays, about = read_model(model)
        if as_json:
            shapes = {name: list(array.shape) for name, array in arrays.items()}
            print_json({"model": model} | about | {"arrays": shapes})
            return
        _print(about, sum(array.nbytes for array in arrays.values()))


def _print(about: dict[str, Any], size: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    columns = about.get("columns") or {}
    rows = {
        "kind": about["kind"],
        "written by": f"unsculpt {about['version']}, {size / 1e6:.1f} MB",
        "score": _named(columns.get("score"), about.get("scores", [])),
        "protected": _named(columns.get("protected"), about.get("protected", [])),
        **{role: columns.get(role) for role in ("background", "signal", "weight")},
        "training": _listed(about.get("training", {})),
        "parameters": _listed(about["parameters"]),
    }
    grid = Table.grid(padding=(0, 2))
    for name, text in rows.items():
        if text:
            grid.add_row(f"[bold]{name}[/bold]", escape(str(text)))
    Console().print(grid)


def _named(names: list[str] | None, fitted: list[dict[str, Any]]) -> str:
    """Return the columns with the range or the values of each in the fit."""
    lines = []
    for i, about in enumerate(fitted):
        name = names[i] if names else about.get("name", f"column {i + 1} of the array")
        if "categories" in about:
            lines.append(f"{name}: one of {', '.join(map(str, about['categories']))}")
        else:
            lines.append("{}: {:g} to {:g}".format(name, *about["range"]))
    return "\n".join(lines or names or [])


def _listed(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {_number(value)}" for name, value in values.items())


def _number(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
