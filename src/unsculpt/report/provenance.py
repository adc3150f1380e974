"""What a report was made from: model, events, files, command, versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.report.events import Events

LIBRARIES = ("unsculpt", "numpy", "scipy", "scikit-learn", "jax", "matplotlib")


def provenance_of(events: Events, more: Mapping[str, str]) -> dict[str, str]:
    """Return what somebody needs to make the report again."""
    of_models: dict[str, str] = {}
    for name, model in events.models.items():
        of = f" of the {name}" if len(events.models) > 1 else ""
        training: dict[str, Any] = getattr(model, "training_", None) or {}
        of_models |= {f"Model{of}": type(model).__name__}
        of_models |= {f"Parameters{of}": _pairs(model.get_params())}
        of_models |= {f"Fit{of}": _pairs(training)} if training else {}
    return {
        **of_models,
        "Events": ", ".join(
            _count(events, label, name)
            for label, name in ((0, "background"), (1, "signal"))
            if events.has_signal or label == 0
        ),
        **more,
        "Versions": _pairs({name: version(name) for name in LIBRARIES}),
        "Machine": f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        "Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    }


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _count(events: Events, label: int, name: str) -> str:
    chosen = events.labels == label
    count = f"{np.count_nonzero(chosen):,} {name}"
    if events.weight is None:
        return count
    return f"{count} (sum of weights {events.weight[chosen].sum():,.6g})"
