"""Names of tables: `events.parquet`, `run*.root`, `file.root:Events`, `https://host/a.root`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unsculpt.files.remote import AnyPath, Remote, is_url

GLOB = frozenset("*?[")
# A URL and what is in it; the colon of a port comes before the first slash of the path.
INSIDE_URL = re.compile(r"(\w[^:]*://[^/]*/.*\.\w+):([^:]*)")


@dataclass(frozen=True)
class Location:
    """A file, and the tree or group inside it; an empty name is the only one there."""

    path: AnyPath
    inside: str = ""

    @classmethod
    def parse(cls, text: str | os.PathLike[str]) -> Location:
        """Take a name apart at the colon that follows the file's ending."""
        text = os.fspath(text)
        if is_url(text):
            match = INSIDE_URL.fullmatch(text)
            return cls(Remote(match[1]), match[2]) if match else cls(Remote(text))
        path, colon, inside = text.rpartition(":")
        if not colon or os.path.exists(text) or "." not in os.path.basename(path):
            return cls(Path(text))
        return cls(Path(path), inside)

    def __str__(self) -> str:
        return f"{self.path}:{self.inside}" if self.inside else str(self.path)


def locate(*names: str | os.PathLike[str]) -> list[Location]:
    """Return the files that names and patterns mean, in the order given; a pattern's by name."""
    found = []
    for name in names:
        location = Location.parse(name)
        paths = [location.path]
        if isinstance(location.path, Remote):
            paths = _located(location.path)
        elif not location.path.exists():
            if not GLOB & set(str(location.path)):
                raise FileNotFoundError(f"there is no file {location.path}")
            paths = [Path(path) for path in sorted(glob.glob(str(location.path), recursive=True))]
            if not paths:
                raise FileNotFoundError(f"no file matches {location.path}")
        found += [Location(path, location.inside) for path in paths]
    if not found:
        raise ValueError("no file is named; expected at least one")
    _check_once(found)
    return found


def _located(remote: Remote) -> list[AnyPath]:
    """Return the files that a URL means; a question mark in it is none of a pattern."""
    pattern = {"*", "["} & set(remote.url)
    found = remote.glob() if pattern else [remote] * remote.exists()
    if not found:
        raise FileNotFoundError(f"there is no file {remote}, or its server does not answer")
    return list(found)


class Tables:
    """A set of tables, whatever the names of their files."""

    def __init__(self, locations: Iterable[Location] = ()) -> None:
        self._inside: dict[AnyPath, set[str]] = {}
        for location in locations:
            self.add(location)

    def add(self, location: Location) -> None:
        """Take one more."""
        self._inside.setdefault(location.path.resolve(), set()).add(location.inside)

    def __contains__(self, location: Location) -> bool:
        trees = self._inside.get(location.path.resolve(), set())
        # Without a name it is the only tree of the file, so the one that has been named.
        return bool(trees) and (location.inside in trees or "" in {location.inside, *trees})


def _check_once(locations: list[Location]) -> None:
    """Refuse a table that is there twice, under two patterns perhaps."""
    seen = Tables()
    for location in locations:
        if location in seen:
            raise ValueError(
                f"{location} is named twice, and its events would count twice; name each file once"
            )
        seen.add(location)
