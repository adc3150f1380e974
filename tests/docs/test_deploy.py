"""The page's Python example runs and gives what the model gives."""

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"


def test_example(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names = {}
    exec(code, names)
    spline, flat = names["spline"], names["flat"]
    inside = np.isfinite(flat)
    assert inside.mean() > 0.99
    expected = spline.transform(names["score"][inside], names["mass"][inside])
    np.testing.assert_allclose(flat[inside], expected, rtol=0, atol=1e-7)
