"""Model files: arrays and JSON in safetensors, so that reading one cannot run code.

What is in them is read here without the classes of models, which take a second to import.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from unsculpt.atomic import atomic_write

FORMAT = 2  # 1 may have no checksum
_KEY = "unsculpt"

Arrays = dict[str, NDArray[Any]]
Json = dict[str, Any]


def write_model(path: str | os.PathLike[str], arrays: Arrays, metadata: Json) -> None:
    """Write a model file whole or not at all."""
    written = content(arrays, metadata)
    with atomic_write(path) as draft:
        draft.write_bytes(written)


def content(arrays: Arrays, metadata: Json) -> bytes:
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
    if not os.access(path, os.R_OK):  # of which safetensors says that it is not there
        raise PermissionError(f"you may not read {path}; ask its owner")
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
