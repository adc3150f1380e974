"""Reading any fitted model back from its file."""

from __future__ import annotations

import inspect
import os
from typing import Any

# Imported for their models, which become known by being defined.
from unsculpt import classifiers, decorrelators  # noqa: F401
from unsculpt.models import Model
from unsculpt.models.files import read_model


def load(path: str | os.PathLike[str]) -> Any:
    """Read a decorrelator or classifier that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.
    """
    arrays, about = read_model(path)
    kinds = _kinds(Model)  # type: ignore[type-abstract]
    if about["kind"] not in kinds:
        raise ValueError(
            f"{path} holds a {about['kind']!r}; this unsculpt knows {', '.join(sorted(kinds))}"
        )
    try:
        model = kinds[about["kind"]](**about["parameters"])
        model._restore(arrays, about)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    return model


def _kinds(kind: type[Model]) -> dict[str, type[Model]]:
    """Return by name all models there are of a kind."""
    kinds = {} if inspect.isabstract(kind) else {kind.__name__: kind}
    for narrower in kind.__subclasses__():
        kinds |= _kinds(narrower)
    return kinds
