"""Fitted models and their files: arrays and JSON in safetensors, so that loading cannot run code.

A class of models registers itself when it is defined. `load`, the command line and the tables of
methods read that registry; nothing is imported by its name.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import isabstract
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unsculpt.model_files import Arrays as Arrays
from unsculpt.model_files import Json as Json
from unsculpt.model_files import content, read_model, write_model

MODELS: dict[str, type[Model]] = {}


class Model(BaseEstimator, ABC):  # type: ignore[misc]
    """Anything of ours that is fitted and kept: a scikit-learn estimator with a file.

    Attributes:
        source_: the columns of the files it was fitted on, as column names or expressions:
            `{"score": [...], "protected": [...], "background": ..., "signal": ..., "weight": ...}`;
            with the number of `events`, the `files` and their `sizes` in bytes; None if it was
            fitted on arrays.
    """

    source_: Json | None = None
    _renamed: ClassVar[dict[str, str]] = {}  # parameters that older files call otherwise

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        MODELS[cls.__name__] = cls

    @abstractmethod
    def _state(self) -> tuple[Arrays, Json]:
        """Return all that was learned, as arrays and as JSON."""

    @abstractmethod
    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        """Take back what `_state` gave."""

    def _keep(self, **attributes: Any) -> None:
        """Keep what a fit has learned, all at once: an interrupted fit leaves the one before."""
        self.__dict__.update(attributes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `unsculpt.load` reads.

        Args:
            path: the file to write.
        """
        write_model(path, *packed(self))


def packed(model: Model, name: str = "") -> tuple[Arrays, Json]:
    """Return all it takes to have a model again; its arrays under a name, to go inside another."""
    check_is_fitted(model)
    arrays, metadata = model._state()
    kind = {"kind": type(model).__name__, "parameters": model.get_params(deep=False)}
    start = f"{name}." if name else ""
    return {start + key: array for key, array in arrays.items()}, (
        kind | metadata | {"columns": model.source_}
    )


def packed_all(models: Sequence[Model], name: str) -> tuple[Arrays, list[Json]]:
    """Return the same of several models, to go inside another: they are name.0, name.1, ..."""
    arrays: Arrays = {}
    metadata = []
    for i, model in enumerate(models):
        own, its_metadata = packed(model, f"{name}.{i}")
        arrays |= own
        metadata.append(its_metadata)
    return arrays, metadata


def unpacked(arrays: Arrays, metadata: Json, name: str = "") -> Any:
    """Return the model that was packed."""
    start = f"{name}." if name else ""
    if metadata["kind"] not in MODELS:
        known = ", ".join(sorted(name for name, kind in MODELS.items() if not isabstract(kind)))
        raise ValueError(
            f"holds a {metadata['kind']!r}; this unsculpt knows {known}. If the class is your own, "
            "import its module first"
        )
    kind = MODELS[metadata["kind"]]
    parameters = {kind._renamed.get(key, key): x for key, x in metadata["parameters"].items()}
    model: Any = kind(**parameters)
    own = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
    model._restore(own, metadata)
    model.source_ = metadata.get("columns")
    return model


def unpacked_all(arrays: Arrays, metadata: Sequence[Json], name: str) -> list[Any]:
    """Return the models that were packed."""
    return [
        unpacked(arrays, its_metadata, f"{name}.{i}") for i, its_metadata in enumerate(metadata)
    ]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a decorrelator or classifier that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.

    Args:
        path: the model file.

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import DDTDecorrelator
    >>> with TemporaryDirectory() as folder:
    ...     DDTDecorrelator().fit(range(10), range(10)).save(f"{folder}/ddt.unsculpt")
    ...     load(f"{folder}/ddt.unsculpt")
    DDTDecorrelator()
    """
    arrays, metadata = read_model(path)
    try:
        return unpacked(arrays, metadata)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None


def checksum(model: Model) -> str:
    """Return the SHA-256 of the file that `save` writes."""
    return hashlib.sha256(content(*packed(model))).hexdigest()
