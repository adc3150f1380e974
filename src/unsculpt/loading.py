"""Reading any fitted model back from its file."""

from __future__ import annotations

import os
from typing import Any

from unsculpt import decorrelators
from unsculpt.models.files import read_model


def load(path: str | os.PathLike[str]) -> Any:
    """Read a decorrelator or classifier that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.
    """
    arrays, about = read_model(path)
    kind = about["kind"]
    known = ["Classifier", *(name for name in decorrelators.HOMES if name != "Decorrelator")]
    if kind not in known:
        raise ValueError(f"{path} holds a {kind!r}; this unsculpt knows {', '.join(sorted(known))}")
    try:
        model = _model(kind)(**about["parameters"])
        model._restore(arrays, about)
        model.source_ = about.get("columns")
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    return model


def _model(kind: str) -> Any:
    """Return the class of that name; only what it needs is imported."""
    if kind == "Classifier":
        from unsculpt.classifiers import Classifier

        return Classifier
    return getattr(decorrelators, kind)
