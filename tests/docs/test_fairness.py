"""The fairness tutorial's code runs and does what it says."""

import re
from pathlib import Path

import pytest
from sklearn import config_context

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "fairness.md"


@pytest.mark.filterwarnings("ignore:.* is outside the fitted")
def test_the_page(capsys):
    pytest.importorskip("statsmodels")
    names = {}
    with config_context():  # the page changes it
        text = PAGE.read_text()
        exec("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)), names)
    luck = names["luck"]
    assert names["raw_gap"] > 0.25
    assert names["new_gap"] < 0.2
    assert 0.05 < sum(luck) / len(luck) < 0.11
    assert names["before"] > 0.25
    assert names["chance"] < 0.75 * names["before"]
    gaps = names["gaps"]
    for name in ("label known", "mean of two"):
        assert gaps[name] < 0.7 * gaps["score"]
    parity = {name: made["test_parity"].mean() for name, made in names["found"].items()}
    assert parity["decorrelated"] < 0.5 * parity["as it is"]
    printed = capsys.readouterr().out
    assert "people drawn by lot" in printed
