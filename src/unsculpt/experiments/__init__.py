"""The paper's study, end to end."""

from unsculpt.experiments.grid import run
from unsculpt.experiments.presets import PRESETS, Preset

__all__ = ["PRESETS", "Preset", "run"]
