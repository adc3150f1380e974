"""Sphinx builds the documentation with this: `sphinx-build -W docs build/docs`."""

import sys
from importlib import metadata
from pathlib import Path

from docutils import nodes
from sphinx.util.inspect import TypeAliasForwardRef

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
html_static_path = ["_static"]
html_css_files = ["unsculpt.css"]
default_role = "literal"  # what stands between single backticks in a docstring is code
highlight_language = "none"  # a block without a language is no Python
smartquotes = False  # --option is no dash

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats")}
TypeAliasForwardRef.__repr__ = lambda self: self.name  # in "ArrayLike | None" it is shown as it is
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

    def dashes(app, tree, name):
        """Put a dash where Sphinx writes two hyphens between an argument and its description."""
        for text in list(tree.findall(nodes.Text)):
            if text == " -- ":
                text.parent.replace(text, nodes.Text(" – "))

    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-resolved", dashes)
