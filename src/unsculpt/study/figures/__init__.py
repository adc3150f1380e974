"""The figures of the study."""

from unsculpt.study.figures.paper import draw

__all__ = ["draw"]
