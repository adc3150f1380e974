"""The one training engine: every model of the project is fitted here."""

from unsculpt.fitting.engine import Fit, fit

__all__ = ["Fit", "fit"]
