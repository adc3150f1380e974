"""Decorrelators: one file a method, one base class."""

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.flow import FlowDecorrelator

__all__ = ["Decorrelator", "FlowDecorrelator"]
