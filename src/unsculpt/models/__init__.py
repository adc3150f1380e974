"""What every fitted model shares: the input it accepts and the file it is kept in."""

from unsculpt.models.base import Model

__all__ = ["Model"]
