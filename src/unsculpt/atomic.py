"""Files that appear whole or not at all, and never in the place of what is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_drafts: set[Path] = set()  # the hidden folders they are written in
_shared: set[Path] = set()  # folders that processes which this one started write into
_changing = Lock()  # held while a draft comes or takes its place
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
    folder = path.with_name(f".{path.stem}-{os.getpid()}-{os.urandom(8).hex()}")
    draft = folder / path.name  # the ending stays: some writers choose the format by it
    try:
        with _changing:
            _drafts.add(folder)
            folder.mkdir()
        yield draft
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        with _changing:
            os.replace(draft, path)
    finally:
        with _changing:  # who is stopped waits here, and has no time to complain of a lost draft
            shutil.rmtree(folder, ignore_errors=True)
            _drafts.discard(folder)


def abandon_drafts() -> None:
    """Remove what is half written, for a process about to end: from now on no file can change."""
    _changing.acquire()
    for folder in [*_drafts, *_of_children()]:
        # A thread may be starting its draft. Once the folder is gone, none can.
        for _ in range(TRIES):
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)


def children_write_into(folder: Path) -> None:
    """Remember where processes that this one started write, as it has to tidy up behind them."""
    _shared.add(folder)


def _of_children() -> list[Path]:
    """End the processes that write for this one; return the folders of their drafts."""
    if not _shared:
        return []
    from multiprocessing import active_children

    children = active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join(1)
    return [
        draft
        for folder in _shared
        for child in children
        for draft in folder.glob(f".*-{child.pid}-{'[0-9a-f]' * 16}")
    ]


def keep_inputs(output: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> None:
    """Refuse an output that is one of the files the work reads, by whatever name."""
    for path in inputs:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(f"{output} is read from; write to another file")
