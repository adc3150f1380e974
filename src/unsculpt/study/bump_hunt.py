"""A bump hunt on the mass spectrum that a tagger selects."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from scipy.stats import norm

from unsculpt.inputs import Floats, Mask
from unsculpt.metrics.bumps import fit_sidebands, polynomials

# Of this range and order the fit predicts the test jets of the signal window, before any cut, to
# within 0.3%, a quarter of its error; lower orders are off by several times theirs.
LOW, HIGH, ORDER = 50.0, 180.0, 5
EDGES = np.arange(LOW, HIGH + 1, 2.0)
BASIS = polynomials(EDGES, ORDER)

EXPERIMENTS = 1000  # of pyBumpHunter


def window_bins(window: tuple[float, float]) -> Mask:
    """Return which bins touch a window."""
    return (EDGES[1:] > window[0]) & (EDGES[:-1] < window[1])


def significance(counts: Floats, inside: Mask) -> float:
    """Return by how many standard deviations the window exceeds the fit to the sidebands."""
    background = fit_sidebands(counts, inside, BASIS)
    excess = counts[inside].sum() - background.in_window
    return float(excess / np.sqrt(max(background.in_window, 1) + background.error**2))


def pseudo_experiments(spectrum: Floats, inside: Mask, toys: int, seed: int) -> Floats:
    """Return the significance found in each of many experiments drawn from a spectrum."""
    random = np.random.default_rng(seed)
    return np.array(
        [significance(random.poisson(spectrum).astype(float), inside) for _ in range(toys)]
    )


def global_significance(spectrum: Floats, inside: Mask, *, seed: int = 0) -> float:
    """Return what pyBumpHunter claims of the expected spectrum, over the fit to its sidebands.

    It scans windows of all places and of 4 to 40 GeV, and allows for having looked everywhere;
    no bump is zero, and 3.1 the most that its thousand pseudo-experiments can tell.
    """
    from pyBumpHunter import BumpHunter1D

    counts = np.rint(spectrum)
    hunter = BumpHunter1D(
        rang=(EDGES[0], EDGES[-1]),
        bins=EDGES,
        width_min=2,
        width_max=20,
        width_step=2,
        scan_step=1,
        npe=EXPERIMENTS,
        nworker=1,
        seed=seed,
    )
    # It talks, and takes the logarithm of p-values that are zero.
    with redirect_stdout(StringIO()), np.errstate(divide="ignore"):
        hunter.bump_scan(counts, fit_sidebands(counts, inside, BASIS).expected, is_hist=True)
    # With no pseudo-experiment as extreme the p-value is only known to be below one in npe.
    return float(norm.isf(np.clip(np.ravel(hunter.global_Pval)[0], 1 / hunter.npe, 0.5)))
