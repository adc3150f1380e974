"""Decorrelators: one file a method, one base class."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsculpt.decorrelators.base import Decorrelator
    from unsculpt.decorrelators.chain import Chain
    from unsculpt.decorrelators.ddt import DDTDecorrelator
    from unsculpt.decorrelators.feature import FeatureDecorrelator
    from unsculpt.decorrelators.flow import FlowDecorrelator
    from unsculpt.decorrelators.knn import KNNDecorrelator
    from unsculpt.decorrelators.quantile import QuantileDecorrelator
    from unsculpt.decorrelators.spline import SplineDecorrelator
    from unsculpt.decorrelators.table import TableDecorrelator
    from unsculpt.decorrelators.transport import TransportDecorrelator

# Each is imported when asked for: not every method needs JAX, which takes a second to load.
HOMES = {
    "Chain": "chain",
    "DDTDecorrelator": "ddt",
    "Decorrelator": "base",
    "FeatureDecorrelator": "feature",
    "FlowDecorrelator": "flow",
    "KNNDecorrelator": "knn",
    "QuantileDecorrelator": "quantile",
    "SplineDecorrelator": "spline",
    "TableDecorrelator": "table",
    "TransportDecorrelator": "transport",
}
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
]


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(f"unsculpt.decorrelators.{HOMES[name]}"), name)
    raise AttributeError(f"module 'unsculpt.decorrelators' has no attribute {name!r}")
