"""Model files: arrays and JSON in a safetensors file, so that loading one cannot run code."""

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

from unsculpt.whole import whole

FORMAT = 1
_KEY = "unsculpt"


def write_model(
    path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]], about: dict[str, Any]
) -> None:
    """Write a model file whole or not at all."""
    about = {"format": FORMAT, "version": version("unsculpt")} | about
    about = json.loads(json.dumps(about, default=_plain))
    # In this machine's byte order, in which safetensors hands them back.
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        for name, array in arrays.items()
    }
    about |= {"sha256": _checksum(about, arrays)}
    # One entry: safetensors writes several in any order.
    content = save(arrays, metadata={_KEY: json.dumps(about, sort_keys=True)})
    with whole(path) as draft:
        draft.write_bytes(content)


def _checksum(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Return a number that changes with any bit of a model."""
    sha = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"{name} {array.dtype} {array.shape}".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _plain(value: Any) -> Any:
    """Return a parameter that came as an array, or as one of its numbers, in JSON's terms."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"a {type(value).__name__} cannot be kept in a model file: {value!r}")
    return value.tolist()


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and the JSON of a model file."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get(_KEY, "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{path} is not a whole unsculpt model file ({error}); was it cut short in a copy?"
        ) from None
    if not isinstance(about, dict) or not about.keys() >= {"kind", "format", "version"}:
        raise ValueError(f"{path} is a safetensors file, but not one of unsculpt's models")
    if not isinstance(about["format"], int) or about["format"] > FORMAT:
        raise ValueError(
            f"{path} was written by unsculpt {about['version']} in format {about['format']}; "
            f"this is unsculpt {version('unsculpt')}, which reads up to format {FORMAT}: "
            "upgrade with pip install -U unsculpt"
        )
    written = about.pop("sha256", None)  # files of earlier versions have none
    if written is not None and written != _checksum(about, arrays):
        raise ValueError(
            f"{path} is a corrupt model file: its checksum does not fit its content; take another "
            "copy of it, or fit and save the model again"
        )
    return arrays, about
