from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from unsculpt import FlowDecorrelator, decorrelators
from unsculpt.cli import app
from unsculpt.datasets import toys
from unsculpt.tables import create

COLUMNS = ["--score", "tagger", "--protect", "mass", "--background", "label == 0"]


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


@pytest.fixture
def quick(monkeypatch):
    """Makes a fit take a moment: one flow, one epoch."""
    rough = partial(FlowDecorrelator, members=1, epochs=1)
    monkeypatch.setattr(decorrelators, "FlowDecorrelator", rough, raising=False)


@pytest.fixture(scope="session")
def model(events, tmp_path_factory):
    """A model file that knows its columns."""
    background = events.filter(pa.compute.field("label") == 0)
    flow = FlowDecorrelator(members=1, epochs=1)
    flow.fit(background["tagger"].to_numpy(), background.select(["mass"]).to_pandas())
    flow.source_ = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}
    path = tmp_path_factory.mktemp("model") / "w.unsculpt"
    flow.save(path)
    return path
