"""Values beyond the fitted range: what is done, and the warning that counts them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Literal

Outside = Literal["clip", "raise", "nan"]
STRICTEST_FIRST: tuple[Outside, ...] = ("raise", "nan", "clip")
# Of this package, or between two lines of it: a property that is worked out when first asked for.
OURS = (str(Path(__file__).parents[2]), functools.__file__)


def check_outside(outside: str) -> None:
    """Refuse a policy that does not exist."""
    if outside not in ("clip", "raise", "nan"):
        raise ValueError(f"outside is {outside!r}; expected 'clip', 'raise' or 'nan'")


class OutsideWarning(UserWarning):
    """Some events have a protected value beyond the fitted range.

    Attributes:
        name: the attribute.
        count: how many events.
    """

    def __init__(self, message: str, name: str, count: int) -> None:
        super().__init__(message)
        self.name, self.count = name, count


def users_level() -> int:
    """Return how far up the caller is that is not of this package, for `warnings.warn`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    return level
