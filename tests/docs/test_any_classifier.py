"""The tutorial's code runs and does what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

from unsculpt import metrics

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "any-classifier.md"


def blocks(title):
    """The code of one section; that of the first, without a title, comes before all others."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (text,) = [s for s in sections if s.startswith(title)]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


@pytest.fixture(scope="module")
def start():
    names = {}
    exec(blocks("# Decorrelate"), names)
    exec("import unsculpt as us", names)
    return names


@pytest.mark.parametrize(
    ("title", "library"),
    [("scikit-learn", "sklearn"), ("XGBoost", "sklearn"), ("PyTorch", "torch")],
)
def test_three_lines_flatten_the_score(title, library, start):
    pytest.importorskip(library)
    code = blocks(title)
    assert "score = " in code
    names = dict(start)
    exec(code, names)
    test, label, mass = names["test"], names["label"], names["mass"]
    before, after = (
        metrics.inverse_jsd(names[name][test], label[test], mass[test], bins=20)
        for name in ("score", "flat")
    )
    assert after > 5 * before
    at_a_mass = names["spline"].transform(np.sort(names["score"]), np.full(len(mass), 80.0))
    assert np.all(np.diff(at_a_mass) >= 0)
