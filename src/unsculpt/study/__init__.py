"""The paper's study, end to end."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsculpt.study.grid import run, study
    from unsculpt.study.presets import PRESETS, Preset

HOMES = {"PRESETS": "presets", "Preset": "presets", "run": "grid", "study": "grid"}

__all__ = ["PRESETS", "Preset", "run", "study"]


def __getattr__(name: str) -> Any:
    # The processes that judge models must not start JAX: it would claim the GPU once more.
    if name in HOMES:
        return getattr(import_module(f"unsculpt.study.{HOMES[name]}"), name)
    raise AttributeError(f"module 'unsculpt.study' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
