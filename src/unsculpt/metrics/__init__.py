"""Separation, sculpting and their limits, with NumPy alone.

Labels are 1 for signal and 0 for background, a higher score is more like signal, and an event
passes a cut if its score is at least the cut. Weights may be negative.
"""

from unsculpt.metrics.binning import bin_edges
from unsculpt.metrics.bumps import Scan, scan_for_bumps
from unsculpt.metrics.fairness import (
    demographic_parity_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
)
from unsculpt.metrics.flatness import cramer_von_mises_in_bins, kolmogorov_smirnov_in_bins
from unsculpt.metrics.in_bins import (
    auc_in_bins,
    efficiency_in_bins,
    expected_auc,
    rejection_in_bins,
)
from unsculpt.metrics.independence import Flatness, TooFewEventsError, flatness_test
from unsculpt.metrics.limits import Ideal, ideal_inverse_jsd
from unsculpt.metrics.neighbours import cramer_von_mises_among_neighbours
from unsculpt.metrics.region import signal_window
from unsculpt.metrics.sculpting import inverse_jsd, jensen_shannon, jsd
from unsculpt.metrics.separation import auc, rejection, threshold
from unsculpt.metrics.trade_off import trade_off
from unsculpt.metrics.uncertainty import Interval, bootstrap
from unsculpt.metrics.working_point import WorkingPoint, working_point

__all__ = [
    "Flatness",
    "Ideal",
    "Interval",
    "Scan",
    "TooFewEventsError",
    "WorkingPoint",
    "auc",
    "auc_in_bins",
    "bin_edges",
    "bootstrap",
    "cramer_von_mises_among_neighbours",
    "cramer_von_mises_in_bins",
    "demographic_parity_difference",
    "efficiency_in_bins",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "expected_auc",
    "flatness_test",
    "ideal_inverse_jsd",
    "inverse_jsd",
    "jensen_shannon",
    "jsd",
    "kolmogorov_smirnov_in_bins",
    "rejection",
    "rejection_in_bins",
    "scan_for_bumps",
    "signal_window",
    "threshold",
    "trade_off",
    "working_point",
]
