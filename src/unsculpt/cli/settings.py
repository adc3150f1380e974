"""The method that `fit` and `check` work with: its name, its parameters, its categories."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from unsculpt.cli.shared import said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsculpt.decorrelators import Decorrelator
    from unsculpt.files import Sample

T = TypeVar("T")
FEW_VALUES = 10  # of whole numbers, that categories may be


def known_method(name: str | None) -> str | None:
    """Refuse a method that is not registered."""
    if name is None:
        return None
    from unsculpt.decorrelators.base import methods

    if name not in methods():
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(methods())}.")
    return name


def first_that_fits(work: Callable[[str], T], method: str | None) -> T:
    """Work with a method; if none is given, with a spline, or a flow if it takes too little."""
    from unsculpt.decorrelators.spline import TooManyValuesError

    try:
        return work(method or "spline")
    except TooManyValuesError:
        if method is not None:
            raise
        return work("flow")


def new_decorrelator(
    method: str,
    sample: Sample,
    parameters: dict[str, Any],
    chosen: Sequence[str] = (),
    **options: Any,
) -> Decorrelator:
    """Return a decorrelator with these parameters, and those of the options it has.

    Args:
        method: its name.
        sample: the events; text makes categories.
        parameters: what the user has set.
        chosen: further attributes that are categories.
        options: what not every method has.
    """
    from unsculpt.decorrelators.base import methods

    kind: Any = methods()[method]
    known = kind().get_params()
    columns = sample.protected
    named = [name for name in columns if name in chosen or columns[name].dtype.kind in "US"]
    if chosen and "categorical" not in known:
        raise ValueError(f"--method {method} knows no categories; leave --categorical away")
    options |= {"categorical": named} if named else {}
    new: Decorrelator = kind(
        **{name: value for name, value in options.items() if name in known} | parameters
    )
    return new


def parsed_settings(settings: Sequence[str], method: str | None) -> dict[str, Any]:
    """Return the parameters that --set names, checked against those of the method."""
    if not settings:
        return {}
    from unsculpt.decorrelators.base import methods

    kind: Any = methods()[method or "spline"]
    types = get_type_hints(kind.__init__, vars(sys.modules[kind.__module__]) | {"Any": Any})
    own = ("seed", "outside", "categorical")  # which have options
    known = [name for name in kind().get_params() if name not in own]
    parameters = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"--set {setting!r} should be NAME=VALUE, such as epochs=20")
        if name in own:
            raise ValueError(f"--set {setting}: there is an option --{name}, if the method has it")
        if name not in known:
            raise ValueError(
                f"--set {setting}: {kind.__name__} has no parameter {name!r}; it has "
                + (", ".join(known) or "none that can be set")
            )
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        if not _is_a(value, types.get(name, Any)):
            expected = _words(types[name])
            raise ValueError(f"--set {setting}: {name} is {value!r}; expected {expected}")
        parameters[name] = value
    return parameters


def _is_a(value: Any, kind: Any) -> bool:
    """Return whether a value is of an annotated type, as far as our parameters have them."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if kind in (None, type(None)):
        return value is None
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(_is_a(value, part) for part in parts)
    if origin is not None:  # a sequence of numbers
        several = isinstance(value, list | tuple) and (len(parts) < 2 or len(value) == len(parts))
        return several and all(_is_a(each, parts[0]) for each in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def _words(kind: Any) -> str:
    """Return what `_is_a` expects, in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(str, parts))
    if origin in (Union, UnionType):
        return " or ".join(map(_words, parts))
    if origin is tuple:
        return f"{len(parts)} numbers, as 60,100"
    if origin is not None:
        return "numbers, as 0.5,0.9"
    plain = {int: "a whole number", float: "a number", bool: "True or False", type(None): "None"}
    return plain.get(kind, str(kind))


def check_columns(score: Sequence[str], protect: Sequence[str], categorical: Sequence[str]) -> None:
    """Refuse a column that is named twice, and a category that is not protected."""
    for name, times in Counter([*score, *protect]).items():
        if times > 1:
            raise ValueError(
                f"--score and --protect name {name} {times} times; expected each column once"
            )
    for name in categorical:
        if name not in protect:
            raise ValueError(
                f"--categorical {name} is not protected; expected one of {', '.join(protect)}"
            )


def suggest_categories(sample: Sample, source: dict[str, Any]) -> list[str]:
    """Say so where an attribute is a number but may be meant as a category."""
    import numpy as np

    notes = []
    for name, column in sample.protected.items():
        if column.dtype.kind not in "biu" or name in source.get("categorical", ()):
            continue
        values = np.unique(column)
        if len(values) <= FEW_VALUES:
            notes.append(
                f"{name} has the values {', '.join(map(str, values))} alone and is taken as a "
                f"scale; if they are categories, say so with --categorical {name}"
            )
    return said("Note", notes)
