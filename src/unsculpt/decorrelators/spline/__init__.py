"""Decorrelation with penalised splines on a histogram."""

from unsculpt.decorrelators.spline.decorrelator import SplineDecorrelator

__all__ = ["SplineDecorrelator"]
