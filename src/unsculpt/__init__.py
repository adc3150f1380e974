"""Takes a discriminant that sculpts a spectrum and returns one that does not."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsculpt.decorrelators import (
        Chain,
        DDTDecorrelator,
        Decorrelator,
        FeatureDecorrelator,
        FlowDecorrelator,
        KNNDecorrelator,
        QuantileDecorrelator,
        SplineDecorrelator,
        TableDecorrelator,
        TransportDecorrelator,
    )
    from unsculpt.loading import load

__version__ = version("unsculpt")
__all__ = [
    "Chain",
    "DDTDecorrelator",
    "Decorrelator",
    "FeatureDecorrelator",
    "FlowDecorrelator",
    "KNNDecorrelator",
    "QuantileDecorrelator",
    "SplineDecorrelator",
    "TableDecorrelator",
    "TransportDecorrelator",
    "load",
]


def __getattr__(name: str) -> Any:
    # JAX takes a second to import: who only asks for help should not wait for it.
    if name in __all__:
        home = "unsculpt.loading" if name == "load" else "unsculpt.decorrelators"
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'unsculpt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
