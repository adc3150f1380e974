"""Decorrelation with quantile regression."""

from unsculpt.decorrelators.quantile.decorrelator import QuantileDecorrelator

__all__ = ["QuantileDecorrelator"]
