"""Penalties that keep a classifier from learning the protected attributes while it trains.

Pure functions of JAX, PyTorch or NumPy arrays. Add one, times a strength, to the loss.
"""

from unsculpt.penalties.distance import distance_correlation
from unsculpt.penalties.moments import moment_decomposition

__all__ = ["distance_correlation", "moment_decomposition"]
