"""Long columns in blocks that fit the caches, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.cores import cores

BLOCK = 2**15


def in_blocks(
    function: Callable[..., NDArray[np.float64]], *columns: NDArray[Any]
) -> NDArray[np.float64]:
    """Return `function(*columns)`, one number an event and each event by itself.

    Blocks were measured to take 0.65 of the core seconds of one pass over two million events, and
    NumPy and JAX let go of Python's lock while they compute, so that threads can share them.
    """
    events = len(columns[0])
    # The first block alone: what the function keeps for later calls is then made once.
    first = function(*(column[:BLOCK] for column in columns))
    if events <= BLOCK:
        return first
    out = np.empty(events)
    out[:BLOCK] = first

    def fill(start: int) -> None:
        rows = slice(start, start + BLOCK)
        out[rows] = function(*(column[rows] for column in columns))

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(fill, range(BLOCK, events, BLOCK)))
    return out
