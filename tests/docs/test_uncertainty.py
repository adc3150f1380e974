"""The page's fit with pyhf runs and finds what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "uncertainty.md"


def test_the_page():
    pytest.importorskip("pyhf")
    names = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)), names)
    nominal = names["background"]
    ends = np.array([list(shape["data"].values()) for shape in names["shapes"]])
    spread = np.sqrt((((ends[:, 0] - ends[:, 1]) / 2) ** 2).sum(axis=0)) / nominal
    assert np.all((spread > 0.01) & (spread < 0.15))
    assert sum(up.share_ for up, _ in names["pairs"]) == pytest.approx(0.71, abs=0.03)
    assert names["exact"] == pytest.approx(3.2, abs=0.15)
    assert names["honest"] == pytest.approx(1.0, abs=0.15)
