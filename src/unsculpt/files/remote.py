"""Files behind a URL, read through fsspec: https, s3, root and what else it has a package for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# A scheme has two letters or more: one is a drive of Windows.
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# Which of our extras brings the package that a scheme needs.
EXTRAS = {"http": "https", "https": "https", "s3": "s3", "root": "xrootd", "roots": "xrootd"}


def is_url(name: object) -> bool:
    """Return whether a name is a URL."""
    return URL.match(str(name)) is not None


@dataclass(frozen=True)
class Remote:
    """A file behind a URL, with what we ask of a `Path`."""

    url: str

    def __str__(self) -> str:
        return self.url

    __fspath__ = __str__

    @property
    def name(self) -> str:
        """What follows the last slash."""
        return self.url.partition("?")[0].rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return Path(self.name).suffix

    def absolute(self) -> Remote:
        """Return the URL as it is: it is the same from anywhere."""
        return self

    def resolve(self) -> Remote:
        """Return the one of its names that fsspec prefers."""
        return self._named(self._place[1])

    def exists(self) -> bool:
        """Return whether the server has it."""
        system, path = self._place
        return bool(system.exists(path))

    def stat(self) -> SimpleNamespace:
        """Return its size in bytes, as `st_size`."""
        system, path = self._place
        return SimpleNamespace(st_size=system.size(path))

    def glob(self) -> list[Remote]:
        """Return the files that it is a pattern of, by name."""
        system, path = self._place
        return [self._named(found) for found in sorted(system.glob(path))]

    def open(self) -> Any:
        """Open it to read."""
        system, path = self._place
        return system.open(path, "rb")

    def _named(self, path: str) -> Remote:
        return Remote(str(self._place[0].unstrip_protocol(path)))

    @cached_property
    def _place(self) -> tuple[Any, str]:
        """The file system of the URL, and where the file is in it."""
        import fsspec

        scheme = self.url.partition("://")[0]
        try:
            system, path = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            extra = EXTRAS.get(scheme)
            how = f"install it with: pip install 'unsculpt[{extra}]'" if extra else str(error)
            raise ModuleNotFoundError(f"{self.url} needs a package: {how}") from None
        except ValueError:
            raise ValueError(
                f"{self.url} begins with {scheme}://, which fsspec does not know; expected a file, "
                "https://, s3:// or root://"
            ) from None
        return system, path


AnyPath = Path | Remote


@contextmanager
def readable(path: AnyPath) -> Iterator[Any]:
    """Give what libraries read from: the path of a file here, or the file elsewhere, opened."""
    if isinstance(path, Path):
        yield path.absolute()  # pyarrow takes a:b.parquet for a URL
    else:
        with path.open() as file:
            yield file
