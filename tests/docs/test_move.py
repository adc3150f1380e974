"""The page's example runs and does what it says."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "move.md"


def test_the_page():
    names = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)), names)
    toy, moved = names["toy"], names["at_80"]
    half = (toy.score + moved) / 2
    np.testing.assert_allclose(names["half_way"], half, atol=1e-12)
    background = toy.background
    for new in (moved, names["closest"]):
        before = np.corrcoef(toy.protected[background], toy.score[background])[0, 1]
        after = np.corrcoef(toy.protected[background], new[background])[0, 1]
        assert abs(after) < 0.05 < abs(before)
