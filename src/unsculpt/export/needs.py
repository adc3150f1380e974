"""Packages that only an export needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needs(package: str, extra: str) -> Any:
    """Import a package, or say how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise ModuleNotFoundError(
            f"this export needs {package}: pip install 'unsculpt[{extra}]'", name=package
        ) from None
