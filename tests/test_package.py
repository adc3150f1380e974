import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import unsculpt as us


def modules_after(*statements):
    """The modules that a fresh Python has loaded after each of some statements."""
    code = "import sys\n" + "".join(f"{line}\nprint(*sys.modules)\n" for line in statements)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [set(line.split()) for line in result.stdout.splitlines()]


def test_jax_comes_with_the_first_network():
    first, *others = modules_after(
        "import unsculpt",
        "import unsculpt.datasets, unsculpt.metrics",
        "unsculpt.QuantileDecorrelator().then",
        "from unsculpt.classifiers import Classifier; Classifier()",
    )
    assert "unsculpt" in first
    assert not {"jax", "sklearn", "flowjax", "matplotlib"} & first
    for loaded in others:
        assert "jax" not in loaded


def test_version_is_that_of_the_installed_package():
    assert us.__version__ == version("unsculpt")


def test_everything_public_can_be_had_and_is_listed():
    for name in us.__all__:
        assert getattr(us, name).__name__ == name
        assert name in dir(us)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'unsculpt' has no attribute 'FlwoDecorr'"):
        us.FlwoDecorr  # noqa: B018


SOURCE = Path(us.__file__).parent
ABOVE = {"cli", "report", "study", "export", "plots", "files", "datasets"}


def imports(path):
    """Each module and name that a file imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def test_nothing_below_the_models_asks_the_front_door_for_them():
    """`from unsculpt import load` would be an upward import that lint-imports cannot see."""
    packages = {path.stem for path in SOURCE.iterdir()}
    for path in SOURCE.rglob("*.py"):
        home = path.relative_to(SOURCE).parts[0]
        if home not in ABOVE and home != "__init__.py":
            hidden = {name for module, name in imports(path) if module == "unsculpt"}
            assert hidden <= packages, path


def test_no_model_is_imported_by_a_string():
    for path in SOURCE.rglob("*.py"):
        home = path.relative_to(SOURCE).parts[0]
        if home not in ABOVE and home != "__init__.py":
            assert ("importlib", "import_module") not in set(imports(path)), path
