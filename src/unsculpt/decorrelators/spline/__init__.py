"""Decorrelation with penalised splines on a histogram."""

from unsculpt.decorrelators.spline.binning import TooManyValuesError
from unsculpt.decorrelators.spline.decorrelator import SplineDecorrelator

__all__ = ["SplineDecorrelator", "TooManyValuesError"]
