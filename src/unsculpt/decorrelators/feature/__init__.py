"""Decorrelation of input features with an autoregressive flow."""

from unsculpt.decorrelators.feature.decorrelator import FeatureDecorrelator

__all__ = ["FeatureDecorrelator"]
