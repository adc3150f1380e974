"""Figures: a function takes arrays and returns a matplotlib Figure."""

from unsculpt.plots.before_after import before_after

__all__ = ["before_after"]
