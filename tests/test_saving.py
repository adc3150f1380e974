"""Model files of earlier versions, and classes of other people."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unsculpt as us
from unsculpt.cli import app
from unsculpt.decorrelators.base import methods
from unsculpt.model_files import read_model, write_model

FOLDER = Path(__file__).parent / "files-of-0.1.0"


@pytest.fixture(scope="module")
def events():
    with np.load(FOLDER / "events.npz") as arrays:
        return dict(arrays)


FILES = sorted(path.stem for path in FOLDER.glob("*.unsculpt") if path.stem != "table")


@pytest.mark.parametrize("name", FILES)
def test_files_of_the_first_version_give_what_they_gave(name, events):
    model = us.load(FOLDER / f"{name}.unsculpt")
    score, mass = events["score"], events["mass"]
    both = np.column_stack([score, events["other"]])
    two = pd.DataFrame({"mass": mass, "pt": events["pt"]})
    channels = pd.DataFrame({"mass": mass, "ch": events["channel"]})
    found = {
        "flow2": lambda: model.transform(both, two),
        "flowcat": lambda: model.transform(score, channels),
        "quantilepaper": lambda: model.transform(score, mass),
        "knn1": lambda: model.transform(score, mass),
        "ddt2": lambda: model.transform(both, two),
        "transportdual": lambda: model.transform(both, mass),
        "classifier": lambda: model.predict_proba(events["features"]),
        "chain": lambda: model.transform(events["features"], mass),
    }[name]()
    np.testing.assert_allclose(found, events[f"expected.{name}"], rtol=0, atol=1e-9)


def test_a_spline_of_the_first_version_says_to_fit_it_again():
    with pytest.raises(ValueError, match=r"table.unsculpt .*splines of version 0.1.0 .*fit this"):
        us.load(FOLDER / "table.unsculpt")


def test_a_class_that_nobody_has_imported(tmp_path):
    class Mine(us.SplineDecorrelator):
        """A class of the user's own."""

    rng = np.random.default_rng(0)
    Mine().fit(rng.normal(size=50), rng.uniform(size=50)).save(tmp_path / "mine.unsculpt")
    assert type(us.load(tmp_path / "mine.unsculpt")) is Mine
    assert methods()["spline"] is us.SplineDecorrelator
    del us.saving.MODELS["Mine"]
    with pytest.raises(ValueError, match=r"holds a 'Mine'; this unsculpt knows .*import its"):
        us.load(tmp_path / "mine.unsculpt")


@pytest.mark.parametrize(
    "wrong", [{"parameters": 0}, {"columns": True}, {"protected": [{"name": "mass", "range": []}]}]
)
def test_a_file_of_another_shape_is_no_traceback(wrong, tmp_path):
    path = tmp_path / "ddt.unsculpt"
    us.DDTDecorrelator().fit(range(10), range(10)).save(path)
    arrays, metadata = read_model(path)
    write_model(path, arrays, metadata | wrong)
    for command in (["info", path], ["apply", path, "a.csv", "-o", tmp_path / "b.csv"]):
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code == 1
        assert done.stderr.startswith("Error: ")
