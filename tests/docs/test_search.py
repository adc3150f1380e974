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


@pytest.mark.filterwarnings("ignore:.*is outside the fitted")
def test_each_half_has_a_map_of_its_own(found):
    """The last map is that of the second half; the first half has another."""
    halves = [found["half"] == k for k in (0, 1)]
    by_last = [found["flow"].transform(found["normal"](h), found["log_mass"][h]) for h in halves]
    np.testing.assert_array_equal(found["latent"][halves[1]], by_last[1])
    assert np.abs(found["latent"][halves[0]] - by_last[0]).max() > 0.1


def test_the_cut_keeps_a_per_cent_of_the_sidebands(found):
    last, rows = found["last"], (found["half"] == 1) & found["sidebands"]
    kept = last.transform(found["score"][rows], found["log_mass"][rows]) > 0.99
    assert kept.mean() == pytest.approx(0.01, abs=0.0025)  # three errors


def test_the_excess_has_the_error_of_the_map(found):
    assert found["on"] > 0
    assert found["variance"] > 0
    assert np.isfinite(found["significance"])
