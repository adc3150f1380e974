"""Expressions of columns: `mass / 1000`, `label == 0 and pt > 300`, `max(tau1, tau2)`.

The text is parsed and walked here; nothing of it is ever run by Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from unsculpt.files.arrays import (
    FILE,
    ROW,
    filled,
    is_awkward,
    is_text,
    to_compute,
    to_numpy,
    widen,
)
from unsculpt.files.functions import ARITHMETIC, COMPARISONS, CONDITIONS, FUNCTIONS, where


class Rows(NamedTuple):
    """What an expression is computed of.

    Attributes:
        table: the columns.
        maybe: what a condition is that nobody can know, as a number in it is missing; None: what
            NumPy makes of it.
    """

    table: pa.Table
    maybe: bool | None = None

    def negated(self) -> Rows:
        """Return the same for what stands behind a 'not'."""
        return self._replace(maybe=None if self.maybe is None else not self.maybe)

    def column(self, name: str) -> Any:
        """Return a column."""
        column = self.table[name]
        if self.maybe is not None and pa.types.is_boolean(column.type):
            column = column.fill_null(self.maybe)
        return to_compute(column)

    def stray(self, names: Iterable[str]) -> str:
        """Say where a column of text has its first word among numbers, if one of these has."""
        for name in (name for name in names if is_text(self.table[name].type)):
            words = to_numpy(self.table[name])
            odd = [i for i, word in enumerate(words.tolist()) if word and not is_number(word)]
            if 0 < 2 * len(odd) < len(words) and ROW in self.table.column_names:
                file, row = (self.table[place][odd[0]].as_py() for place in (FILE, ROW))
                return (
                    f"; {name} is {str(words[odd[0]])!r} in row {row + 1:,} of {file}, a number in "
                    "most other rows"
                )
        return ""


Compiled = Callable[[Rows], Any]


class ExpressionError(ValueError):
    """An expression that is none, or not of these columns."""


@dataclass(frozen=True)
class Expression:
    """An expression of columns, to be computed for any table that has them.

    Attributes:
        text: the expression as it was written.
        columns: the columns it needs.
    """

    text: str
    columns: tuple[str, ...]
    _compute: Compiled

    def __call__(self, table: pa.Table) -> Any:
        """Return its value at each row: a NumPy array, or an awkward one where lists are in it."""
        return self._value(Rows(table))

    def holds(self, table: pa.Table) -> tuple[Any, Any]:
        """Return the rows where a condition holds, and those where it may hold.

        The two differ where a value is missing: `nan > 1` neither holds nor fails.

        Args:
            table: a table of pyarrow with the columns of the expression.

        >>> table = pa.table({"mass": [80.4, None], "label": [0, 0]})
        >>> both = parse("label == 0 and mass > 50", table.column_names)
        >>> [where.tolist() for where in both.holds(table)]
        [[True, False], [True, True]]
        """
        sure, possible = (self._value(Rows(table, maybe)) for maybe in (False, True))
        if not _is_condition(sure):
            kind = "text" if _holds_text(sure) else getattr(sure, "dtype", "records or lists")
            raise ExpressionError(
                f"{self.text!r} gives {kind}; expected a condition such as label == 0"
            )
        return sure, possible

    def _value(self, rows: Rows) -> Any:
        with np.errstate(all="ignore"):  # log(0) is what it is; who reads it decides on NaN
            try:
                value = self._compute(rows)
            except (ExpressionError, MemoryError):
                raise
            except Exception as error:  # what NumPy and awkward cannot do shows as anything
                text = [name for name in self.columns if is_text(rows.table[name].type)]
                # awkward has no words for a text beside lists of numbers.
                what = (
                    f"{' and '.join(text)} is text{rows.stray(text)}"
                    if text
                    else str(error) or "text is no number"
                )
                raise ValueError(f"{self.text!r} cannot be computed: {what}") from None
        return np.full(len(rows.table), value) if getattr(value, "ndim", 0) == 0 else value


def parse(text: str, names: Sequence[str]) -> Expression:
    """Read an expression of the columns named; a text that is the name of one is that column.

    Names that are no words go between backticks.

    Args:
        text: the expression.
        names: names of the columns of the table.

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
        return Expression(text, (text,), lambda rows: rows.column(text))
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
            odd = [name for name in self.names if name in self.text and not name.isidentifier()]
            if odd:
                hint += f"; a name that is no word goes between backticks: `{max(odd, key=len)}`"
            raise self.error(
                f"this is no column and no expression: {error.args[0]}{hint}"
            ) from None

    def _quote(self, match: re.Match[str]) -> str:
        stand_in = f"_quoted_{len(self.quoted)}_"
        self.quoted[stand_in] = match[1]
        return stand_in

    def error(self, message: str) -> ExpressionError:
        return ExpressionError(f"in {self.text!r}: {message}")

    def compile(self, node: ast.expr) -> Compiled:
        match node:
            case ast.Constant(value=int() as value) if value >= 2**64:
                raise self.error("a whole number is beyond 2**64; write it as in 1e20")
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return lambda rows: value
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
                return lambda rows: reduce(np.logical_and, [part(rows) for part in both])
            case ast.Call(ast.Name(name), arguments, []):
                return self.called(name, arguments)
        more = "; name one at a time, repeating the option" if isinstance(node, ast.Tuple) else ""
        if isinstance(node, ast.Subscript):  # as in mass [GeV]
            more = f", and there is no column {ast.unparse(node)!r}"
        raise self.error(f"{ast.unparse(node)!r} is not allowed in an expression{more}")

    def applied(self, function: Callable[..., Any], nodes: Sequence[ast.expr]) -> Compiled:
        parts = [self.compile(node) for node in nodes]
        return lambda rows: function(*(part(rows) for part in parts))

    def joined(self, op: ast.AST, nodes: Sequence[ast.expr]) -> Compiled:
        """Join conditions; others than conditions mostly lack parentheses: a > 1 & b > 2."""
        join, parts = CONDITIONS[type(op)], [(node, self.compile(node)) for node in nodes]

        negate = isinstance(op, ast.Not | ast.Invert)

        def compute(rows: Rows) -> Any:
            values = []
            for node, part in parts:
                values.append(part(rows.negated() if negate else rows))
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
                if not elements or not all(map(_is_constant, elements)):
                    raise self.error("'in' takes numbers or text, as in label in (1, 2)")
                any_of = [self.compared(left, ast.Eq(), element) for element in elements]
                negate = isinstance(op, ast.NotIn)

                def is_in(rows: Rows) -> Any:
                    rows = rows.negated() if negate else rows
                    return negate ^ reduce(np.logical_or, [equal(rows) for equal in any_of])

                return is_in
        if type(op) not in COMPARISONS:
            raise self.error(f"{ast.unparse(ast.Compare(left, [op], [right]))!r} is not allowed")
        compare, sides = COMPARISONS[type(op)], [self.compile(left), self.compile(right)]
        # To compare with no text is to ask whether there is any.
        for_none = any(
            isinstance(node, ast.Constant) and node.value == "" for node in (left, right)
        )

        def compute(rows: Rows) -> Any:
            values = [side(rows) for side in sides]
            text = [_holds_text(value) for value in values]
            if text[0] != text[1]:
                raise self.error(
                    f"{ast.unparse((left, right)[text.index(True)])!r} is text and compared with "
                    f"a number{rows.stray(self.used)}"
                )
            found = compare(*values)
            if rows.maybe is None or for_none:
                return found
            return where(np.logical_or(*map(_missing, values)), rows.maybe, found)

        return compute

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
            return lambda rows: rows.column(name)
        match node:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=field):
                records = self.column(value)
                return lambda rows: self.field(records(rows), field, name)
        raise self.error(f"there is no column {name!r}{self.nearest(name, self.names)}")

    def field(self, records: Any, field: str, name: str) -> Any:
        fields = getattr(records, "fields", [])
        if field not in fields:
            raise self.error(f"there is no {name!r}{self.nearest(field, fields)}")
        values = filled(records[field])
        # Of one record an event, not of a list of them, it is a column like any other.
        return widen(values if values.fields or values.ndim > 1 else values.to_numpy())

    @staticmethod
    def nearest(name: str, names: Any) -> str:
        close = get_close_matches(name, names, 1, cutoff=0.5) or [
            other for other in names if other.lower() == name.lower()
        ]
        if close:
            return f"; did you mean {close[0]!r}?"
        some = ", ".join(list(names)[:20]) or "none"
        return f"; there are {some}" + (" and more" if len(names) > 20 else "")


def _is_constant(node: ast.expr) -> bool:
    """Return whether this is a number, -1 for one, or text."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _is_condition(value: Any) -> bool:
    if is_awkward(value):
        import awkward as ak

        if value.fields:
            return False
        value = ak.flatten(value, axis=None)
    return bool(np.asarray(value).dtype == bool)


def _holds_text(value: Any) -> bool:
    if is_awkward(value):
        return "string" in str(value.type)
    return np.asarray(value).dtype.kind in "US"


def is_number(text: str) -> bool:
    """Return whether a text is that of a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _missing(value: Any) -> Any:
    """Return where there is no value: NaN, or no text."""
    return value == "" if _holds_text(value) else np.isnan(value)
