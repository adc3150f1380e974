"""The examples of the page run, and halfway is halfway."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "move.md"


def test_examples():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(code, names)
    middle = (names["toy"].score + names["flat"]) / 2
    np.testing.assert_allclose(names["halfway"], middle, atol=1e-12)
