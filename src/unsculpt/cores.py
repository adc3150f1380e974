"""How many processor cores there are to use."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may use: a batch slot owns fewer than its machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
