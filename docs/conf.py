"""Sphinx builds the documentation with this: `sphinx-build -W docs build/docs`."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for commands.py

project = "unsculpt"
author = "the unsculpt developers"
copyright = "the unsculpt developers"
release = metadata.version("unsculpt")

extensions = [
    "commands",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["figures"]
html_theme = "furo"
html_title = f"unsculpt {release}"
smartquotes = False  # --option is no dash

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats")}
napoleon_use_ivar = False  # a field list takes the end of history_ for markup
napoleon_use_rtype = False


def setup(app):
    """Leave out what the docstrings do not say.

    That is what scikit-learn adds to every estimator, which its own pages describe, and the fields
    of named tuples, which their classes describe.
    """

    def skip(app, what, name, obj, skipped, options):
        field = type(obj).__name__ == "_tuplegetter"
        return skipped or field or getattr(obj, "__module__", "").startswith("sklearn") or None

    app.connect("autodoc-skip-member", skip)
