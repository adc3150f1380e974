import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from unsculpt.penalties import distance_correlation, moment_decomposition

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "penalties.md"


@pytest.fixture(scope="module")
def names():
    """What the code on the page leaves behind, all of it run in order."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    return names


@pytest.mark.parametrize("penalised", ["disco", "mode"])
@pytest.mark.parametrize("penalty", [distance_correlation, moment_decomposition])
def test_the_penalty_falls(names, penalised, penalty):
    background = names["label"] == 0
    mass = names["mass"][background]
    before = penalty(names["plain"][background], mass)
    assert penalty(names[penalised][background], mass) < before / 2


@pytest.mark.parametrize("penalised", ["disco", "mode"])
def test_and_the_classifier_still_classifies(names, penalised):
    signal = names["label"] == 1
    scores = names[penalised]
    above = (scores[signal][:, None] > scores[~signal][None, :]).float().mean()
    assert above > 0.7


def test_the_other_blocks_agree(names):
    background, scores, mass = names["label"] == 0, names["disco"], names["mass"]
    everywhere = distance_correlation(scores[background].numpy(), mass[background].numpy())
    assert float(names["correlation"]) == pytest.approx(float(everywhere), rel=1e-5)
    first = background[:1000]
    in_batch = distance_correlation(scores[:1000][first], mass[:1000][first])
    assert float(names["values"][1]) == pytest.approx(float(in_batch), rel=1e-4)
