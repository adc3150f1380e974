"""The one training engine: every model of the project is fitted here."""

from unsculpt.fitting.engine import ADAM, Fit, fit

__all__ = ["ADAM", "Fit", "fit"]
