"""Models back from their arrays and JSON, and models inside models."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy.typing import NDArray

# By name: these packages build on this one, and are imported when a file asks for them.
PACKAGES = ("unsculpt.decorrelators", "unsculpt.classifiers")


def restored(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Any:
    """Return the model that was packed."""
    model = model_class(about["kind"])(**about["parameters"])
    model._restore(arrays, about)
    model.source_ = about.get("columns")
    return model


def nested(name: str, model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return a packed model to keep inside another, its arrays under a name."""
    arrays, about = model._packed()
    return {f"{name}.{key}": array for key, array in arrays.items()}, about


def unnested(name: str, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> Any:
    """Return the model kept inside another under a name."""
    start = f"{name}."
    own = {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}
    return restored(own, about)


def model_class(kind: str) -> Any:
    """Return the class of a name; only what it needs is imported."""
    known: list[str] = []
    for package in PACKAGES:
        module = import_module(package)
        if kind in module.__all__ and hasattr(getattr(module, kind), "_restore"):
            return getattr(module, kind)
        known += [name for name in module.__all__ if name[0].isupper()]
    raise ValueError(f"holds a {kind!r}; this unsculpt knows {', '.join(sorted(known))}")
