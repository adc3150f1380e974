"""The reference that Sphinx builds from the docstrings."""

import inspect
import runpy
from pathlib import Path

import pytest

from unsculpt import FlowDecorrelator

napoleon = pytest.importorskip("sphinx.ext.napoleon")


def test_learned_attributes_keep_their_underscore():
    settings = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "conf.py"))
    ours = {name: value for name, value in settings.items() if name.startswith("napoleon_")}
    text = inspect.getdoc(FlowDecorrelator)
    reference = str(napoleon.GoogleDocstring(text, napoleon.Config(**ours), what="class"))
    assert ".. attribute:: history_" in reference
