"""Files that appear whole or not at all, and never in the place of what is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_folders: set[Path] = set()  # of drafts
_changing = Lock()  # held while a folder comes or goes, or a draft takes its place
TRIES = 10


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a name in a hidden folder to write to; what is there at the end replaces `path`.

    An error, a kill or a power cut leaves `path` as it was. A symbolic link is followed; a device
    is refused.
    """
    name, path = path, Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {Path(name).parent} to write {Path(name).name} into"
        )
    if path.exists() and not path.is_file():
        raise ValueError(f"{name} is not a file but a device or a folder; write to another name")
    folder = path.with_name(f".{path.stem}-{os.urandom(8).hex()}")
    draft = folder / path.name  # the ending stays: some writers choose the format by it
    try:
        with _changing:
            _folders.add(folder)
            folder.mkdir()
        yield draft
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        with _changing:
            os.replace(draft, path)
    finally:
        with _changing:  # who is stopped waits here, and has no time to complain of a lost draft
            shutil.rmtree(folder, ignore_errors=True)
            _folders.discard(folder)


def abandon_drafts() -> None:
    """Remove what is half written, for a process about to end: from now on no file can change."""
    _changing.acquire()
    for folder in list(_folders):
        # A thread may be starting its draft. Once the folder is gone, none can.
        for _ in range(TRIES):
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)


def keep_inputs(output: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> None:
    """Refuse an output that is one of the files the work reads, by whatever name."""
    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(f"{output} is read from; write to another file")
