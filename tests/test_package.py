import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import unsculpt as us


def modules_after(statement):
    """The modules that a fresh Python has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_import_does_not_wait_for_jax():
    loaded = modules_after("import unsculpt")
    assert "unsculpt" in loaded
    assert not {"jax", "sklearn", "flowjax", "matplotlib"} & loaded


def test_jax_comes_with_the_first_network():
    assert "jax" not in modules_after("import unsculpt; unsculpt.QuantileDecorrelator().then")
    assert "jax" not in modules_after("from unsculpt.classifiers import Classifier; Classifier()")


def test_toys_and_metrics_do_without_jax():
    assert "jax" not in modules_after("import unsculpt.datasets, unsculpt.metrics")


def test_importing_does_not_change_how_jax_counts():
    code = "import jax, unsculpt; unsculpt.QuantileDecorrelator; print(jax.config.jax_enable_x64)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "False"


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
