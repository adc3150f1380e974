"""Figures: a function takes arrays and returns a matplotlib Figure."""

from unsculpt.plots.before_after import before_after
from unsculpt.plots.bumps import bumps
from unsculpt.plots.cut import cut
from unsculpt.plots.efficiency import efficiency
from unsculpt.plots.history import history
from unsculpt.plots.in_bins import in_bins
from unsculpt.plots.plane import plane
from unsculpt.plots.residuals import residuals
from unsculpt.plots.score_slices import score_slices
from unsculpt.plots.separation import separation
from unsculpt.plots.spectrum import spectrum
from unsculpt.plots.trade_off import trade_off

__all__ = [
    "before_after",
    "bumps",
    "cut",
    "efficiency",
    "history",
    "in_bins",
    "plane",
    "residuals",
    "score_slices",
    "separation",
    "spectrum",
    "trade_off",
]
