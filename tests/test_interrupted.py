"""Signals at any moment leave the old file or the whole new one, and end a command at once."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.files import create

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).with_name("interrupting.py")


def ended(what, folder, moments, *arguments):
    """Interrupt work at so many moments; return how often it ended with which exit code."""
    command = [sys.executable, SCRIPT, what, folder, moments, *arguments]
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["wrong"] == []
    return answer["ended"]


@pytest.mark.parametrize(
    "name", ["tree.root", "ntuple.root", "a.parquet", "a.arrow", "a.h5", "a.csv", "a.npz"]
)
def test_a_file_that_is_written(name, tmp_path):
    codes = ended("write", tmp_path, 50, name)
    assert codes["130"] > 3
    assert codes["143"] > 3


@pytest.fixture
def folder(tmp_path):
    """Events, and a model of them."""
    toy = toys.tagger(20_000, 5_000, seed=1)
    table = pa.table({"tagger": toy.score, "mass": toy.protected, "label": toy.label})
    with create(tmp_path / "events.parquet", table.schema) as put:
        put(table)
    flat = np.arange(0, 20_000, 10)
    model = us.SplineDecorrelator().fit(toy.score[flat], {"mass": toy.protected[flat]})
    model.source_ = {"score": ["tagger"], "protected": ["mass"]}
    model.source_ |= {"background": "label == 0", "signal": "label == 1"}
    model.save(tmp_path / "w.unsculpt")
    return tmp_path


FIT = "fit events.parquet --score tagger --protect mass --background label==0"


@pytest.mark.parametrize(
    ("moments", "command"),
    [
        (10, "apply w.unsculpt events.parquet -o flat.parquet"),
        (4, "apply w.unsculpt events.parquet -o flat/ --workers 1"),
        (8, f"{FIT} --signal label==1 -o new.unsculpt"),
        (4, f"{FIT} --method flow --set epochs=1 --set members=1 -o new.unsculpt"),
        (6, "export w.unsculpt -o w.onnx"),
        (4, "report w.unsculpt events.parquet -o w.html"),
        (3, f"{FIT.replace('fit', 'check')} --signal label==1"),
    ],
)
def test_a_command(moments, command, folder):
    if "--workers" in command:
        pytest.importorskip("distributed")
    if "onnx" in command:
        pytest.importorskip("onnx")
    codes = ended("run", folder, moments, *command.split())
    assert set(codes) - {"0"}
