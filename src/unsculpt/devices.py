"""Processor cores and accelerators: who does the work.

Columns of numbers are shared out to threads. Networks run on JAX's default device. To train them,
the cores of a machine become several devices: XLA runs the small matrix products of our models on
one core, so each core takes some of the members, or its share of every batch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats

if TYPE_CHECKING:
    from jax.sharding import Mesh

BLOCK = 2**15
CHUNK = 2**14  # events of a network at once: what a core's cache holds
CHUNK_OF_GPU = 2**17  # what keeps one busy
MOST_DEVICES = 8  # each holds a copy of the data
FEWEST_EVENTS = 64  # of a batch on one device: below, handing gradients around costs more


def cores() -> int:
    """Return how many cores this process may use: a batch slot owns fewer than its machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(function: Callable[..., Floats], *columns: NDArray[Any]) -> Floats:
    """Return `function(*columns)`, one number an event and each event by itself, from all cores.

    Blocks that fit the caches were measured to take 0.65 of the core seconds of one pass over two
    million events, and NumPy and JAX let go of Python's lock while they compute.
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


class _Blas:
    """How many of our calls keep BLAS to one thread, and what gives it back the others."""

    lock, inside = Lock(), 0
    limit: ClassVar[Any] = None

    @staticmethod
    @cache
    def controller() -> Any:
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's products of matrices on the thread that asks for them.

    `in_threads` uses all cores already. Threads of BLAS beside ours wait for each other: on two
    busy cores they were measured to take fifteen times as long. The number is one of the whole
    process, so the first to come changes it and the last to go puts it back.
    """
    with _Blas.lock:
        _Blas.inside += 1
        if _Blas.inside == 1:
            _Blas.limit = _Blas.controller().limit(limits=1)
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.inside -= 1
            if not _Blas.inside:
                _Blas.limit.restore_original_limits()


class _Fork:
    """Whether this process is a fork of one in which JAX ran: its threads are missing here."""

    happened = False

    @classmethod
    def note(cls) -> None:
        bridge = sys.modules.get("jax._src.xla_bridge")
        cls.happened = cls.happened or bool(getattr(bridge, "_backends", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Fork.note)


def refuse_after_fork() -> None:
    """Raise where JAX would wait for ever."""
    if _Fork.happened:
        raise RuntimeError(
            "this process was forked from one in which JAX was running, and JAX would hang in it; "
            "start processes with multiprocessing.get_context('spawn') (joblib's and Dask's "
            "default), or fork before the first fit or transform"
        )


def on_device(
    function: Callable[..., tuple[Any, ...]], model: Any, *columns: NDArray[Any]
) -> tuple[Floats, ...]:
    """Evaluate a network on many events in double precision, in chunks of one shape: compiled once.

    `function(model, *columns)` returns arrays with the events on their last axis.
    """
    refuse_after_fork()
    import jax
    import jax.numpy as jnp

    size = CHUNK if jax.default_backend() == "cpu" else CHUNK_OF_GPU
    parts = []
    # Single precision would break the order of neighbouring scores at 1e-7.
    with jax.enable_x64(True):
        for start in range(0, max(1, len(columns[0])), size):
            rows = [column[start : start + size] for column in columns]
            events = len(rows[0])
            padded = [
                np.pad(column, ((0, size - events), *[(0, 0)] * (column.ndim - 1)))
                for column in rows
            ]
            out = function(model, *map(jnp.asarray, padded))
            parts.append([np.asarray(x)[..., :events] for x in out])
    return tuple(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))


def cores_as_devices() -> None:
    """Have JAX see each core as a device, unless it is running already or the user chose.

    Called by the first fit of a network, before its first array is made: importing unsculpt
    changes nothing of JAX.
    """
    refuse_after_fork()
    import jax

    chosen = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if chosen or getattr(jax.config, "jax_num_cpu_devices", -1) != -1:
        return
    with suppress(RuntimeError):  # JAX is running: it stays with one
        jax.config.update("jax_num_cpu_devices", min(cores(), MOST_DEVICES))


def share_out(members: int, batch_size: int, can_split_batches: bool) -> Mesh:
    """Return the devices, in rows that share the members and columns that share a batch."""
    import jax
    from jax.sharding import Mesh

    devices = jax.local_devices()
    rows = max(n for n in range(1, len(devices) + 1) if members % n == 0)
    columns = len(devices) // rows
    if not can_split_batches or batch_size % columns or batch_size < columns * FEWEST_EVENTS:
        columns = 1
    return Mesh(np.array(devices[: rows * columns]).reshape(rows, columns), ("members", "events"))
