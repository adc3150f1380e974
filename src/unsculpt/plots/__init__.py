"""Figures: a function takes arrays and returns a matplotlib Figure."""

from unsculpt.plots.appendix_a import appendix_a_dataset, appendix_a_representations
from unsculpt.plots.before_after import before_after
from unsculpt.plots.class_clouds import class_clouds
from unsculpt.plots.cut import cut
from unsculpt.plots.cut_scan import cut_scan
from unsculpt.plots.cut_spectra import cut_spectra
from unsculpt.plots.efficiency import efficiency
from unsculpt.plots.history import history
from unsculpt.plots.in_bins import in_bins
from unsculpt.plots.mass import mass_distribution
from unsculpt.plots.ratio_to_ideal import ratio_to_ideal
from unsculpt.plots.score_slices import score_slices
from unsculpt.plots.search import search
from unsculpt.plots.separation import separation
from unsculpt.plots.spectrum import spectrum
from unsculpt.plots.tradeoff import tradeoff

__all__ = [
    "appendix_a_dataset",
    "appendix_a_representations",
    "before_after",
    "class_clouds",
    "cut",
    "cut_scan",
    "cut_spectra",
    "efficiency",
    "history",
    "in_bins",
    "mass_distribution",
    "ratio_to_ideal",
    "score_slices",
    "search",
    "separation",
    "spectrum",
    "tradeoff",
]
