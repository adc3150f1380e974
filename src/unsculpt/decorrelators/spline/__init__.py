"""Decorrelation with penalised splines on a histogram."""

from unsculpt.decorrelators.spline.decorrelator import SplineDecorrelator, TooManyValuesError

__all__ = ["SplineDecorrelator", "TooManyValuesError"]
