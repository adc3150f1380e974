"""The examples of the page run, and no event is transformed by a model that saw it."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "crossfit.md"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is outside the fitted")  # some of the signal
def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(code, names)
    assert (tmp_path / "w-tagger.unsculpt").exists()
    fold = names["event"] % 3
    flat = names["tagger"].transform(names["features"], names["mass"], fold=fold)
    np.testing.assert_array_equal(flat, names["flat"])
