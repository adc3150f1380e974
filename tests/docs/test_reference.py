"""The reference that Sphinx builds from the docstrings."""

import inspect
import re
import runpy
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest

import unsculpt
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


def listed():
    """Return what the pages of the reference list, by name."""
    found = {}
    for page in (Path(__file__).parents[2] / "docs" / "reference").glob("*.md"):
        for kind, name in re.findall(r"^\.\. auto(\w+):: (\S+)$", page.read_text(), flags=re.M):
            if kind != "module":
                found[name] = getattr(unsculpt, name)
                continue
            module = import_module(name)
            ours = getattr(module, "__all__", None) or [
                key
                for key, value in vars(module).items()
                if getattr(value, "__module__", "") == name and not key.startswith("_")
            ]
            found |= {f"{name}.{key}": getattr(module, key) for key in ours}
    return found


def public():
    """Return the functions among them, and the methods of the classes."""
    found = {}
    for name, thing in listed().items():
        if inspect.isroutine(thing):
            found[name] = thing
        elif inspect.isclass(thing):
            methods = inspect.getmembers(thing, inspect.isroutine)
            found |= {
                f"{name}.{key}": method
                for key, method in methods
                if key[0] != "_" and getattr(method, "__module__", "").startswith("unsculpt")
            }
    return found


@pytest.mark.parametrize(("name", "function"), public().items(), ids=public())
def test_every_argument_of_a_public_function_is_described(name, function):
    text = inspect.getdoc(function) or ""
    names = inspect.signature(function).parameters
    given = [p for p in names if not p.startswith("_") and p != "self"]
    assert not [p for p in given if not re.search(rf"^ +\*{{0,2}}{p}: ", text, flags=re.M)]


def test_every_public_class_of_unsculpt_is_on_a_page():
    pages = (Path(__file__).parents[2] / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text() for page in pages)
    named = re.findall(r"^\.\. auto(?:class|function):: (\w+)$", text, flags=re.M)
    assert sorted(named) == sorted(unsculpt.__all__)


def test_no_words_are_taken_for_a_type():
    """Napoleon does so before a colon in the first line of a property or of what is returned."""
    kinds = {name: thing for name, thing in listed().items() if inspect.isclass(thing)}
    members = {
        f"{kind}.{name}": member
        for kind in kinds
        for name, member in inspect.getmembers(kinds[kind])
        if name[0] != "_"
    }
    lines = {}
    for name, thing in (public() | members).items():
        text = inspect.getdoc(thing) or ""
        if isinstance(thing, property | cached_property):
            lines[name] = text.partition("\n")[0]
        elif returned := re.search(r"^Returns:\n +(.*)$", text, flags=re.M):
            lines[name] = returned[1]
    assert len(lines) > 40
    assert not [name for name, line in lines.items() if ":" in re.sub(r"(:\w+:)?`[^`]*`", "", line)]
