"""The code of the search without a signal model, on fewer jets."""

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "search.md"


@pytest.fixture(scope="module")
def found():
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    for many, few in (("40_000", "8_000"), ("epochs=10", "epochs=3"), ("epochs=20", "epochs=5")):
        assert many in code
        code = code.replace(many, few)
    names = {}
    exec(code, names)
    return names


def test_features_of_the_sidebands_do_not_know_the_mass(found):
    beside, mass = found["sidebands"], found["mass"]

    def correlation(features):
        return np.abs(np.corrcoef(features[beside].T, mass[beside])[-1, :-1]).max()

    assert correlation(found["features"]) > 0.4
    assert correlation(found["latent"]) < 0.1


def test_the_cut_keeps_a_per_cent_of_the_sidebands(found):
    beside = found["sidebands"]
    assert found["passes"][beside].mean() == pytest.approx(0.01, abs=0.001)
    assert found["on"] > 0
    assert np.isfinite(found["significance"])
