"""Events to try things on: toys with known answers, the original jets, a generator of more."""

from unsculpt.datasets import toys
from unsculpt.datasets.generation import generate
from unsculpt.datasets.original import load_w_high_level
from unsculpt.datasets.schema import COLUMNS, VARIABLES, Jets

__all__ = ["COLUMNS", "VARIABLES", "Jets", "generate", "load_w_high_level", "toys"]
