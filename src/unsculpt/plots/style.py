"""The look of the figures: mplhep's, at the size of a page of a note."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import matplotlib as mpl
import mplhep
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter

# Okabe and Ito's palette: distinct to colour-blind eyes and in grey print.
ALL, RAW, FLAT = "#666666", "#D55E00", "#0072B2"
COLOURS = (RAW, FLAT, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

STYLE = mplhep.style.ATLAS | {
    # By their own names, so that a figure looks the same wherever it is saved.
    "font.family": ["TeX Gyre Heros", "DejaVu Sans"],  # the second has Greek
    "mathtext.fontset": "stixsans",
    "font.size": 10,
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "axes.labelpad": 3,
    "axes.linewidth": 0.8,
    "axes.autolimit_mode": "data",
    "axes.formatter.use_mathtext": False,  # plain numbers, five times as fast
    "axes.formatter.limits": (-4, 6),  # a per cent is no power of ten
    "legend.fontsize": "small",
    "legend.title_fontsize": "small",
    "legend.borderpad": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "ytick.major.size": 5,
    "ytick.minor.size": 3,
    # Between the numbers of a linear axis: a third of the time of drawing, and nobody counts them.
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
}

P = ParamSpec("P")


def log_axis(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with plain numbers: powers of ten are slow to typeset."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _is_formula(text: str) -> bool:
    """Return whether what stands between dollars can be set; a name may have them for itself."""
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function draw in this style and leave the user's own settings alone."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(STYLE):
            figure = draw(*args, **kwargs)
        for text in figure.findobj(Text):
            if "$" in text.get_text() and not _is_formula(text.get_text()):
                text.set_parse_math(False)
        return figure

    return drawn
