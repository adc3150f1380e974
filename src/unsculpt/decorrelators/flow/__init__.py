"""Decorrelation with a conditional normalizing flow."""

from unsculpt.decorrelators.flow.decorrelator import FlowDecorrelator

__all__ = ["FlowDecorrelator"]
