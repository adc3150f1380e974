"""Events to try things on."""

from unsculpt.datasets import toys

__all__ = ["toys"]
