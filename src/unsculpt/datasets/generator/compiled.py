"""The compiler of the loops over constituents, named in one place."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Ints = NDArray[np.int64]


def compiled(function: Function) -> Function:
    """Compile to machine code at the first call, and keep the result on disk."""
    return cast("Function", numba.njit(cache=True)(function))
