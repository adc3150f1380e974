"""Processor cores as devices that share out models and events.

XLA runs the small matrix products of our models on one core. Seen as several devices, the cores
of a machine each take some of the members, or their share of every batch.
"""

from __future__ import annotations

import os
from contextlib import suppress

import jax
import numpy as np
from jax.sharding import Mesh

from unsculpt.cores import cores

MOST = 8  # each device holds a copy of the data
FEWEST_EVENTS = 64  # of a batch on one device: below, handing gradients around costs more


def share_out(members: int, batch_size: int, additive: bool) -> Mesh:
    """Return the devices, in rows that share the members and columns that share a batch."""
    devices = jax.local_devices()
    rows = max(n for n in range(1, len(devices) + 1) if members % n == 0)
    columns = len(devices) // rows
    if not additive or batch_size % columns or batch_size < columns * FEWEST_EVENTS:
        columns = 1
    return Mesh(np.array(devices[: rows * columns]).reshape(rows, columns), ("members", "events"))


def _as_devices() -> None:
    chosen = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if chosen or getattr(jax.config, "jax_num_cpu_devices", -1) != -1:
        return  # the user's choice stands
    with suppress(RuntimeError):  # JAX is already running: it stays with one
        jax.config.update("jax_num_cpu_devices", min(cores(), MOST))


_as_devices()  # when imported, which has to be before the first array is made
