"""The paper's study, end to end."""

from unsculpt.experiments.carry import carry
from unsculpt.experiments.grid import run, study
from unsculpt.experiments.presets import PRESETS, Preset

__all__ = ["PRESETS", "Preset", "carry", "run", "study"]
