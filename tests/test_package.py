import subprocess
import sys
from importlib.metadata import version

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
