"""The reference that Sphinx builds from the docstrings."""

import inspect
import runpy
from pathlib import Path

import pytest

from unsculpt import FlowDecorrelator
from unsculpt.saving import MODELS


def test_learned_attributes_keep_their_underscore():
    napoleon = pytest.importorskip("sphinx.ext.napoleon")
    settings = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "conf.py"))
    ours = {name: value for name, value in settings.items() if name.startswith("napoleon_")}
    text = inspect.getdoc(FlowDecorrelator)
    reference = str(napoleon.GoogleDocstring(text, napoleon.Config(**ours), what="class"))
    assert ".. attribute:: history_" in reference


def test_the_readme_names_every_method():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    package = "unsculpt.decorrelators."
    ours = [kind for kind in MODELS.values() if kind.__module__.startswith(package)]
    public = [kind.__name__ for kind in ours if not inspect.isabstract(kind)]
    assert len(public) > 8
    assert not [name for name in public if name not in readme and name != "Chain"]
