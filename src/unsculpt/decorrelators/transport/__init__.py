"""Decorrelation of scores of several components with a map that keeps their order."""

from unsculpt.decorrelators.transport.decorrelator import TransportDecorrelator

__all__ = ["TransportDecorrelator"]
