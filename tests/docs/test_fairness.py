"""The fairness tutorial's code runs and does what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "fairness.md"


def rates(names, score, share, among):
    admitted = score > np.quantile(score[among], 1 - share)
    return [admitted[names[group] & among].mean() for group in ("young", "old")]


def test_the_page(capsys):
    names = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)), names)
    test = names["test"]
    for share in (0.5, 0.1):
        young, old = rates(names, names["score"], share, test)
        assert old > 1.2 * young
        young, old = rates(names, names["fair"], share, test)
        assert abs(old - young) < 0.02
    # The linear remedy leaves the tails: the young are admitted far more often.
    young, old = rates(names, names["linear"], 0.1, test)
    assert young > 1.3 * old
    # Mistakes are as frequent in all groups, by the other fit.
    young, old = rates(names, names["careful"], 0.1, test & ~names["repays"])
    assert abs(old - young) < 0.03
    assert "best 10% are" in capsys.readouterr().out
