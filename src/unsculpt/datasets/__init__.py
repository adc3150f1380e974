"""Events to try things on: jets, the original ones, toys with known answers, and a generator."""

from unsculpt.datasets import toys
from unsculpt.datasets.generation import generate
from unsculpt.datasets.original import load_w_high_level
from unsculpt.datasets.schema import COLUMNS, VARIABLES, Jets
from unsculpt.datasets.shipped import load_jets

__all__ = ["COLUMNS", "VARIABLES", "Jets", "generate", "load_jets", "load_w_high_level", "toys"]
