import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from unsculpt import SplineDecorrelator
from unsculpt.cli import app
from unsculpt.datasets import toys
from unsculpt.files import create


@pytest.fixture(scope="session")
def events():
    """A thousand events of a tagger that knows the mass; the last is heavier than others."""
    toy = toys.tagger(800, 200, seed=1)
    toy.protected[-1] = 400
    return pa.table(
        {
            "tagger": toy.score,
            "mass": toy.protected,
            "label": toy.label.astype("i4"),
            "w": np.where(np.arange(1000) % 10 == 0, -0.5, 1.0),
            "channel": np.where(np.arange(1000) % 2 == 0, "muon", "electron"),
        }
    )


@pytest.fixture
def save(tmp_path):
    def write(table, name):
        with create(tmp_path / name, table.schema) as put:
            put(table)
        return str(tmp_path / name)

    return write


@pytest.fixture
def unsculpt():
    """Runs the command; its answer has an exit code and what went to stdout and stderr."""

    def run(*arguments):
        return CliRunner(env={"COLUMNS": "120", "TERM": "dumb"}).invoke(
            app, [str(argument) for argument in arguments], catch_exceptions=False
        )

    return run


@pytest.fixture(scope="session")
def model(events, tmp_path_factory):
    """A model file that knows its columns."""
    background = events.filter(pa.compute.field("label") == 0)
    spline = SplineDecorrelator()
    spline.fit(background["tagger"].to_numpy(), background.select(["mass"]).to_pandas())
    spline.source_ = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}
    spline.source_["signal"] = "label == 1"
    spline.source_ |= {"events": 800, "files": ["a.root"]}
    path = tmp_path_factory.mktemp("model") / "w.unsculpt"
    spline.save(path)
    return path
