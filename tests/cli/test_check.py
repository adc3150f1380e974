import json

import pyarrow as pa
import pytest

from unsculpt.datasets import toys

SAMPLES = ["--background", "label == 0", "--signal", "label == 1"]
COLUMNS = ["--score", "tagger", "--protect", "mass", *SAMPLES]


@pytest.fixture
def path(save):
    toy = toys.tagger(10_000, 1_000, seed=1)
    table = {"tagger": toy.score, "mass": toy.protected, "label": toy.label}
    return save(pa.table(table), "mc.parquet")


def test_it_says_what_moves(unsculpt, path):
    answer = unsculpt("check", path, *COLUMNS, "--strength", 0.05, "--keep", 0.05)
    assert answer.exit_code == 0
    for words in ("signal in the fit", "│ 5% ", "map moves", "→", "keeps 5% of the events"):
        assert words in answer.output


def test_it_answers_scripts(unsculpt, path):
    answer = unsculpt("check", path, *COLUMNS, "--method", "ddt", "--json")
    found = json.loads(answer.stdout)["injected"]
    assert [one["strength"] for one in found] == [0.001, 0.01, 0.1]
    assert set(found[0]["clean"]) == {"signal", "excess", "error"}


def test_without_signal_it_is_refused(unsculpt, path):
    answer = unsculpt("check", path, *COLUMNS[:4], "--background", "label == 0")
    assert answer.exit_code == 1
    assert "which events are signal; expected --signal or --signal-files" in answer.output
    answer = unsculpt("check", path, *COLUMNS, "--signal", "label == 5")
    assert answer.exit_code == 1
    assert "there is no signal among" in answer.output
