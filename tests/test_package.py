import subprocess
import sys
from importlib.metadata import version

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
