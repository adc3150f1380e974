"""The parameters of stacked members as plain arrays, and members from them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray

M = TypeVar("M", bound=eqx.Module)
EVERY = slice(None)


def parameters_of(members: eqx.Module, rows: slice = EVERY) -> list[NDArray[Any]]:
    """Return the arrays of some of the members, or of all."""
    arrays = jax.tree.leaves(eqx.filter(members, eqx.is_inexact_array))
    return [np.asarray(array[rows]) for array in arrays]


def with_parameters(parameters: list[NDArray[Any]], new: Callable[..., M], *how: Any) -> M:
    """Return the members that `new(*how)` makes, with these arrays; nothing is computed."""
    shapes = eqx.filter_eval_shape(new, *how)
    wanted, rest = eqx.partition(shapes, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    members: M = eqx.combine(jax.tree.unflatten(jax.tree.structure(wanted), parameters), rest)
    return members
