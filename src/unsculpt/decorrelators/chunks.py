"""Networks evaluated on many events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chunk() -> int:
    """Return how many events at a time: what a core's cache holds, or what keeps a GPU busy."""
    return 2**14 if jax.default_backend() == "cpu" else 2**17


def in_chunks(
    function: Callable[..., tuple[Any, ...]], model: Any, *columns: NDArray[Any]
) -> tuple[Floats, ...]:
    """Evaluate on the device in double precision, in chunks of one shape: compiled once.

    `function(model, *columns)` returns arrays with the events on their last axis.
    """
    parts, size = [], chunk()
    # Single precision would break the order of neighbouring scores at 1e-7.
    with jax.enable_x64(True):
        for start in range(0, len(columns[0]), size):
            rows = [column[start : start + size] for column in columns]
            events = len(rows[0])
            padded = [
                np.pad(column, ((0, size - events), *[(0, 0)] * (column.ndim - 1)))
                for column in rows
            ]
            out = function(model, *map(jnp.asarray, padded))
            parts.append([np.asarray(x)[..., :events] for x in out])
    return tuple(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
