"""Fitted models and their files: arrays and JSON in safetensors, so that loading cannot run code.

A class of models registers itself when it is defined. `load`, the command line and the tables of
methods read that registry; nothing is imported by its name.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from importlib.metadata import version
from inspect import isabstract
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unsculpt.atomic import atomic_write

FORMAT = 2  # 1 may have no checksum
_KEY = "unsculpt"

Arrays = dict[str, NDArray[Any]]
Json = dict[str, Any]
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
        """Write the fitted model to a file that `unsculpt.load` reads."""
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


def load(path: str | os.PathLike[str]) -> Any:
    """Read a decorrelator or classifier that `save` wrote.

    The file holds numbers and JSON only: reading one from a stranger cannot run code.
    """
    arrays, metadata = read_model(path)
    try:
        return unpacked(arrays, metadata)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is incomplete or of another version ({error}); write it again with save"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None


def checksum(model: Model) -> str:
    """Return the SHA-256 of the file that `save` writes."""
    return hashlib.sha256(_content(*packed(model))).hexdigest()


def write_model(path: str | os.PathLike[str], arrays: Arrays, metadata: Json) -> None:
    """Write a model file whole or not at all."""
    content = _content(arrays, metadata)
    with atomic_write(path) as draft:
        draft.write_bytes(content)


def _content(arrays: Arrays, metadata: Json) -> bytes:
    """Return the bytes of a model file, the same each time."""
    metadata = {"format": FORMAT, "version": version("unsculpt")} | metadata
    metadata = json.loads(json.dumps(metadata, default=_plain))
    # In this machine's byte order, in which safetensors hands them back.
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        for name, array in arrays.items()
    }
    metadata |= {"sha256": _checksum(metadata, arrays)}
    # One entry: safetensors writes several in any order.
    return save(arrays, metadata={_KEY: json.dumps(metadata, sort_keys=True)})


def _checksum(metadata: Json, arrays: Arrays) -> str:
    """Return a number that changes with any bit of a model."""
    sha = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"{name} {array.dtype} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _plain(value: Any) -> Any:
    """Return a parameter that came as an array, or as one of its numbers, in JSON's terms."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"a {type(value).__name__} cannot be kept in a model file: {value!r}")
    return value.tolist()


def read_model(path: str | os.PathLike[str]) -> tuple[Arrays, Json]:
    """Read the arrays and the JSON of a model file."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get(_KEY, "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is not a whole unsculpt model file ({error}); was it cut short in a copy?"
        ) from None
    if not isinstance(metadata, dict) or not metadata.keys() >= {"kind", "format", "version"}:
        raise ValueError(f"{path} is a safetensors file, but not one of unsculpt's models")
    if not isinstance(metadata["format"], int) or metadata["format"] > FORMAT:
        raise ValueError(
            f"{path} was written by unsculpt {metadata['version']} in format {metadata['format']}; "
            f"this is unsculpt {version('unsculpt')}, which reads up to format {FORMAT}: "
            "upgrade with pip install -U unsculpt"
        )
    written = metadata.pop("sha256", None)
    # The files of the first versions have none, nor does one whose key was changed.
    if written != _checksum(metadata, arrays) and not (written is None and metadata["format"] == 1):
        raise ValueError(
            f"{path} is a corrupt model file: its checksum does not fit its content; take another "
            "copy of it, or fit and save the model again"
        )
    return arrays, metadata
