import subprocess
import sys

import pytest

from unsculpt.atomic import atomic_write


def test_the_file_appears_at_the_end(tmp_path):
    path = tmp_path / "new.txt"
    with atomic_write(path) as draft:
        draft.write_text("content")
        assert draft.suffix == ".txt"
        assert not path.exists()
    assert path.read_text() == "content"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_keeps_the_older_file(tmp_path):
    def fail():
        with atomic_write(path) as draft:
            draft.write_text("half")
            raise OSError("disk full")

    path = tmp_path / "old.txt"
    path.write_text("older")
    with pytest.raises(OSError, match="disk full"):
        fail()
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="missing to write new"),
        atomic_write(tmp_path / "missing/new"),
    ):
        pass


LATE = """
import os, sys
from unsculpt.atomic import abandon_drafts, atomic_write

with atomic_write(sys.argv[1]) as draft:
    draft.write_text("half")
    abandon_drafts()
    try:
        draft.with_name("late").write_text("half")
    except FileNotFoundError:
        os._exit(0)
    os._exit(1)
"""


def test_no_draft_begins_once_they_are_abandoned(tmp_path):
    subprocess.run([sys.executable, "-c", LATE, str(tmp_path / "new.txt")], check=True)
    assert not list(tmp_path.iterdir())
