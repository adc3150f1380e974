"""Jets: the shipped sample, the original data, and the generator that makes more."""

from unsculpt.datasets.columns import COLUMNS, VARIABLES
from unsculpt.datasets.generation import generate

__all__ = ["COLUMNS", "VARIABLES", "generate"]
