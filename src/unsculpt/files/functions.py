"""The functions that expressions may call."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from unsculpt.files.arrays import is_awkward, signed


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return one or the other, as a condition says."""
    if any(map(is_awkward, (condition, yes, no))):
        import awkward as ak

        return ak.where(condition, yes, no)
    return np.where(condition, yes, no)


def _power(base: Any, exponent: Any) -> Any:
    # Whole numbers would grow without end (9**9**9), wrap (n**20) or refuse n**-1.
    return np.power(1.0 * base, exponent)


def _times(left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError("text cannot be multiplied")  # Python would repeat it, and fill the memory
    return left * right


def _minus(left: Any, right: Any) -> Any:
    return operator.sub(signed(left), signed(right))  # 3 - 5 would be 18446744073709551614


def _by_zero(divide: Callable[..., Any], left: Any, right: Any) -> Any:
    if np.all(right):
        return divide(left, right)
    # Of whole numbers NumPy makes 0, as if there were an answer; of fractions inf and NaN. Those
    # that are not divided by zero keep their digits.
    of_zero = divide(1.0 * left, right)
    return where(np.not_equal(right, 0), divide(left, right), of_zero) if np.any(right) else of_zero


# How many arguments each takes; -2 is two or more.
FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{
        name: (1, getattr(np, name))
        for name in (
            *("abs", "sqrt", "exp", "expm1", "log", "log10", "log1p", "floor", "ceil"),
            *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
            *("isnan", "isfinite"),
        )
    },
    "arctan2": (2, np.arctan2),
    "hypot": (2, np.hypot),
    "where": (3, where),
    "min": (-2, lambda *values: reduce(np.minimum, values)),
    "max": (-2, lambda *values: reduce(np.maximum, values)),
}
ARITHMETIC: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: _minus,
    ast.Mult: _times,
    ast.Div: np.true_divide,
    ast.FloorDiv: partial(_by_zero, np.floor_divide),
    ast.Mod: partial(_by_zero, np.mod),
    ast.Pow: _power,
    ast.USub: lambda value: operator.neg(signed(value)),
    ast.UAdd: operator.pos,
}
COMPARISONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
CONDITIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.Not: np.logical_not,
    ast.Invert: np.logical_not,
}
