"""The page itself: words, tables and drawings in one HTML file."""

from __future__ import annotations

import io
import re
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from unsculpt.report.words import bare, with_error


def page(**content: Any) -> str:
    """Return the report as HTML, with everything it needs inside."""
    environment = Environment(
        loader=PackageLoader("unsculpt.report"),
        autoescape=True,  # names come from files that others wrote
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"svg": svg, "with_error": with_error, "bare": bare}
    return environment.get_template("report.html").render(content)


def svg(figure: Figure, name: str) -> Markup:
    """Return a figure as SVG that can share a page with others."""
    text = io.StringIO()
    # No date and a salt of ours: the same figure, the same text.
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": "unsculpt"}):
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    # A style in a drawing would hold for the whole page; the page has it.
    drawing = re.sub(r"<style.*?</style>", "", drawing, flags=re.DOTALL)
    # Each figure numbers its parts from one.
    return Markup(re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawing))
