"""Expressions of columns: `mass / 1000`, `label == 0 and pt > 300`, `max(tau1, tau2)`.

The text is parsed and walked here; nothing of it is ever run by Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa

from unsculpt.files.arrays import to_compute, widen
from unsculpt.files.functions import ARITHMETIC, COMPARISONS, CONDITIONS, FUNCTIONS

Compiled = Callable[[pa.Table], Any]


class ExpressionError(ValueError):
    """An expression that is none, or not of these columns."""


@dataclass(frozen=True)
class Expression:
    """Something computed from columns.

    Attributes:
        text: as it was written.
        columns: the columns it needs.
    """

    text: str
    columns: tuple[str, ...]
    _compute: Compiled

    def __call__(self, table: pa.Table) -> Any:
        """Return its value at each row: a NumPy array, or an awkward one where lists are in it."""
        with np.errstate(all="ignore"):  # log(0) is what it is; who reads it decides on NaN
            try:
                value = self._compute(table)
            except ExpressionError:
                raise
            except (TypeError, ArithmeticError, ValueError) as error:
                raise ValueError(f"{self.text!r} cannot be computed: {error}") from None
        return np.full(len(table), value) if getattr(value, "ndim", 0) == 0 else value


def parse(text: str, names: Sequence[str]) -> Expression:
    """Read an expression of the columns named; a text that is the name of one is that column.

    Names that are no words go between backticks.

    >>> import pyarrow as pa
    >>> table = pa.table({"mass": [80.4, 91.2], "jet pt": [200.0, 310.0]})
    >>> parse("80 < mass < 90 or `jet pt` > 300", table.column_names)(table)
    array([ True,  True])
    >>> parse("log(mas)", table.column_names)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    unsculpt...ExpressionError: in 'log(mas)': there is no column 'mas'; did you mean 'mass'?
    """
    if text in names:
        return Expression(text, (text,), lambda table: to_compute(table[text]))
    return _Parser(text, names).expression()


class _Parser:
    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text, self.names = text, names
        self.used: dict[str, None] = {}
        self.quoted: dict[str, str] = {}

    def expression(self) -> Expression:
        try:
            tree = self._parse()
            compute = self.compile(tree.body)
        except (RecursionError, MemoryError):
            raise self.error("this is nested too deeply") from None
        return Expression(self.text, tuple(self.used), compute)

    def _parse(self) -> ast.Expression:
        try:
            return ast.parse(re.sub("`([^`]*)`", self._quote, self.text).strip(), mode="eval")
        except (SyntaxError, ValueError) as error:  # of a null byte, before Python 3.11.4
            hint = "; equal is written ==" if re.search("[^=!<>]=[^=]", self.text) else ""
            raise self.error(f"this is no expression: {error.args[0]}{hint}") from None

    def _quote(self, match: re.Match[str]) -> str:
        stand_in = f"_quoted_{len(self.quoted)}_"
        self.quoted[stand_in] = match[1]
        return stand_in

    def error(self, message: str) -> ExpressionError:
        return ExpressionError(f"in {self.text!r}: {message}")

    def compile(self, node: ast.expr) -> Compiled:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return lambda table: value
            case ast.Name() | ast.Attribute():
                return self.column(node)
            case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as op, right):
                return self.joined(op, [left, right])
            case ast.BoolOp(op, parts):
                return self.joined(op, parts)
            case ast.UnaryOp(ast.Not() | ast.Invert() as op, part):
                return self.joined(op, [part])
            case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
                return self.applied(ARITHMETIC[type(op)], [left, right])
            case ast.UnaryOp(op, part) if type(op) in ARITHMETIC:
                return self.applied(ARITHMETIC[type(op)], [part])
            case ast.Compare(left, ops, others):
                pairs = zip([left, *others[:-1]], ops, others, strict=True)
                both = [self.compared(*pair) for pair in pairs]
                return lambda table: reduce(np.logical_and, [part(table) for part in both])
            case ast.Call(ast.Name(name), arguments, []):
                return self.called(name, arguments)
        raise self.error(f"{ast.unparse(node)!r} is not allowed in an expression")

    def applied(self, function: Callable[..., Any], nodes: Sequence[ast.expr]) -> Compiled:
        parts = [self.compile(node) for node in nodes]
        return lambda table: function(*(part(table) for part in parts))

    def joined(self, op: ast.AST, nodes: Sequence[ast.expr]) -> Compiled:
        """Join conditions; others than conditions mostly lack parentheses: a > 1 & b > 2."""
        join, parts = CONDITIONS[type(op)], [(node, self.compile(node)) for node in nodes]

        def compute(table: pa.Table) -> Any:
            values = []
            for node, part in parts:
                values.append(part(table))
                if not _is_condition(values[-1]):
                    raise self.error(
                        f"{ast.unparse(node)!r} is not a condition such as a > 1; "
                        "& and | bind closer than > and ==, so write 'and' and 'or', or parentheses"
                    )
            return reduce(join, values) if len(values) > 1 else join(*values)

        return compute

    def compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Compiled:
        match op, right:
            case (
                ast.In() | ast.NotIn(),
                ast.Tuple(elements) | ast.List(elements) | ast.Set(elements),
            ):
                if not all(isinstance(element, ast.Constant) for element in elements):
                    raise self.error("'in' takes numbers or text, as in label in (1, 2)")
                any_of = [self.compared(left, ast.Eq(), element) for element in elements]
                negate = isinstance(op, ast.NotIn)
                return lambda table: negate ^ reduce(np.logical_or, [e(table) for e in any_of])
        if type(op) not in COMPARISONS:
            raise self.error(f"{ast.unparse(ast.Compare(left, [op], [right]))!r} is not allowed")
        return self.applied(COMPARISONS[type(op)], [left, right])

    def called(self, name: str, arguments: list[ast.expr]) -> Compiled:
        if name not in FUNCTIONS:
            raise self.error(f"there is no function {name!r}{self.nearest(name, FUNCTIONS)}")
        count, function = FUNCTIONS[name]
        if len(arguments) != count and not (count < 0 and len(arguments) >= -count):
            takes = (
                f"{-count} or more arguments"
                if count < 0
                else f"{count} argument{'s'[: count - 1]}"
            )
            raise self.error(f"{name} takes {takes}, not {len(arguments)}")
        return self.applied(function, arguments)

    def column(self, node: ast.expr) -> Compiled:
        """Return a column; dots are part of its name or lead to the fields of its records."""
        name = self.quoted.get(text := ast.unparse(node), text)
        if name in self.names:
            self.used[name] = None
            return lambda table: to_compute(table[name])
        match node:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=field):
                records = self.column(value)
                return lambda table: self.field(records(table), field, name)
        raise self.error(f"there is no column {name!r}{self.nearest(name, self.names)}")

    def field(self, records: Any, field: str, name: str) -> Any:
        fields = getattr(records, "fields", [])
        if field not in fields:
            raise self.error(f"there is no {name!r}{self.nearest(field, fields)}")
        return widen(records[field])

    @staticmethod
    def nearest(name: str, names: Any) -> str:
        close = get_close_matches(name, names, 1, cutoff=0.5) or [
            other for other in names if other.lower() == name.lower()
        ]
        if close:
            return f"; did you mean {close[0]!r}?"
        some = ", ".join(list(names)[:20]) or "none"
        return f"; there are {some}" + (" and more" if len(names) > 20 else "")


def _is_condition(value: Any) -> bool:
    if isinstance(value, ak.Array):
        return bool(np.asarray(ak.flatten(value, axis=None)).dtype == bool)
    return bool(np.asarray(value).dtype == bool)
