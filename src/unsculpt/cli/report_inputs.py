"""The inputs of `unsculpt report`: models, columns, and whether the fit saw the events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unsculpt.cli.shared import load_decorrelator

# What to say of files that do not have what the model remembers.
INSTEAD = {
    "background": "if all events of a file are background, name it with --background-files",
    "weight": "if each event counts once, give --weight 1",
}

if TYPE_CHECKING:
    from unsculpt.decorrelators import Decorrelator
    from unsculpt.files.location import Location
    from unsculpt.inputs import Columns


def compared(
    path: str, model: Decorrelator, others: list[str], source: dict[str, Any]
) -> dict[str, Decorrelator]:
    """Return the models by the names of their files; all must be about the same columns.

    The first that has folds adds to the columns what tells them.
    """
    found = {Path(path).stem: model}
    for other in others:
        name, one = Path(other).stem, load_decorrelator(other)
        if name in found:
            raise ValueError(f"--with {other}: another model is called {name} too; rename the file")
        own = one.source_ or {}
        for role in ("score", "protected", "fold_by"):
            mine, theirs = (model.source_ or {}).get(role) or source.get(role), own.get(role)
            if theirs and mine and mine != theirs:
                raise ValueError(
                    f"--with {other}: its {role} is {listed(theirs)}, that of {path} is "
                    f"{listed(mine)}; expected models of the same columns"
                )
        if "blind" in own and own["blind"] != source.get("blind"):
            raise ValueError(
                f"--with {other}: it is blind to {own['blind']}, which the report is not"
            )
        if own.get("fold_by"):
            source.setdefault("fold_by", own["fold_by"])
        found[name] = one
    return found


def columns_of(fitted: dict[str, Any], here: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the columns to read, and what the model calls the protected ones."""
    of_files = ("background_files", "signal_files")  # other ones here
    source = {
        role: text or (None if role in of_files else fitted.get(role))
        for role, text in here.items()
    }
    if here["background"] or here["background_files"] or here["signal_files"]:
        source["signal"] = here["signal"]  # that of the fit went with its background
    if here["background_files"]:
        source["background"] = here["background"]  # all events of such a file are
    if any(fitted.get(role) for role in of_files) and not (
        source["background"] or source["background_files"]
    ):
        raise ValueError(
            "the fit knew background by its files; say which they are here, with "
            "--background-files (and --signal-files), or with --background"
        )
    source["categorical"] = fitted.get("categorical")
    if "fold_by" in fitted:
        source["fold_by"] = fitted["fold_by"]
    if not source["score"] or not source["protected"]:
        raise ValueError(
            "the model was fitted on arrays and does not know the columns of files; name them "
            "with --score and --protect, and --background and --weight where they matter"
        )
    names = fitted.get("protected") or source["protected"]
    if len(names) != len(source["protected"]):
        raise ValueError(
            f"the model protects {', '.join(names)}, "
            f"but --protect names {', '.join(source['protected'])}"
        )
    return source, names


def known_here(source: dict[str, Any], here: dict[str, Any], columns: list[str]) -> None:
    """Refuse what the model remembers but these files do not have, as data have no weights."""
    from unsculpt.files.expressions import parse

    for role, instead in INSTEAD.items():
        if source[role] and not here[role]:
            try:
                parse(source[role], columns)
            except ValueError as error:
                raise ValueError(f"{error}. This is the {role} of the fit; {instead}") from None


def named_as_fitted(names: list[str], protected: dict[str, Any]) -> Columns:
    """Return protected columns under the names that the model knows."""
    from unsculpt.inputs import Columns

    return Columns(zip(names, protected.values(), strict=True))


def seen_in_the_fit(
    fitted: dict[str, Any], judged: list[Location], data: list[Location], name: str
) -> list[str]:
    """Say so where files are those of the fit, by path, or by name and size."""
    # With folds an event is judged by a model that has not seen it, but one of data by all.
    locations = data if "fold_by" in fitted else [*judged, *data]
    paths = [Path(text) for text in fitted.get("files", [])]
    sizes = zip((path.name for path in paths), fitted.get("sizes", []), strict=False)
    places, known = {path.resolve() for path in paths}, set(sizes)
    seen = [
        str(location)
        for location in locations
        if Path(str(location)).resolve() in places
        or (Path(str(location)).name, location.path.stat().st_size) in known
    ]
    if not seen:
        return []
    return [
        f"{name} was fitted on {', '.join(seen)}; on the events of its fit a model looks "
        "flatter than on others"
    ]


def listed(columns: str | list[str] | None) -> str:
    """Return columns as a reader has them."""
    return ", ".join(columns) if isinstance(columns, list) else columns or "(none)"
