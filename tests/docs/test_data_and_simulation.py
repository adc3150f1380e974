"""The example of the page runs, and morphs."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "data-and-simulation.md"


def test_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(code, names)
    r9, corrected = names["r9"], names["corrected"]
    assert abs(np.mean(corrected) - np.mean(r9[:3000])) < 0.06 < np.mean(r9[:3000] - r9[3000:])
    assert (tmp_path / "r9.unsculpt").exists()
