"""Jets: the shipped sample, the original data, and the generator that makes more."""

from unsculpt.datasets.generation import generate
from unsculpt.datasets.original import load_w_high_level
from unsculpt.datasets.schema import COLUMNS, VARIABLES, Jets
from unsculpt.datasets.shipped import load_jets

__all__ = ["COLUMNS", "VARIABLES", "Jets", "generate", "load_jets", "load_w_high_level"]
