"""Signals at any moment leave the old file or the whole new one, and end a command at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
