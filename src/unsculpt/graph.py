"""A program over columns of events, in the words of ONNX: written once, run by any target.

Each part of a model writes its own steps, beside the code that computes them here. One word is not
ONNX's: "CountBelow", the search in a sorted list, which each target does in its own way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats

Kind = Literal["number", "text", "table"]


@dataclass(frozen=True)
class Input:
    """What goes into a program, and how to prepare it.

    Attributes:
        kind: a column of numbers or text, or a table of numbers.
        width: of that table.
        expression: how the column was made from those of the files of the fit, if that is known.
        range: where the values of the fit end, if that is known.
        categories: the values it may take, if these are few.
    """

    kind: Kind = "number"
    width: int = 1
    expression: str | None = None
    range: tuple[float, float] | None = None
    categories: list[Any] | None = None

    @property
    def words(self) -> str:
        """How to prepare it, for a reader; in JSON's quotes, so on one line."""
        text = json.dumps(self.expression) if self.expression else "as in the fit"
        if self.kind == "table":
            text += f", {self.width} columns"
        if self.categories is not None:
            text += f", one of {json.dumps(self.categories)}"
        if self.range is not None:
            text += ", fitted from {:g} to {:g}".format(*self.range)
        return text


@dataclass(frozen=True)
class Value:
    """An array that the program will have computed when it runs."""

    graph: Graph
    name: str

    def __add__(self, other: Operand) -> Value:
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.graph.add("Mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph.add("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.graph.add("Div", other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph.add("MatMul", self, other)

    def __lt__(self, other: Operand) -> Value:
        return self.graph.add("Less", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.graph.add("Greater", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def equals(self, other: Operand) -> Value:
        """Return where two arrays agree."""
        return self.graph.add("Equal", self, other)

    def clip(self, low: Operand, high: Operand) -> Value:
        """Return the array kept to a range; unlike ONNX's own Clip it leaves NaN alone."""
        raised = self.graph.where(self < low, low, self)
        return self.graph.where(raised > high, high, raised)


Operand = Value | ArrayLike


@dataclass(frozen=True)
class Node:
    """One step: an operation of ONNX with its options, from named arrays to a named array."""

    operation: str
    inputs: list[str]
    output: str
    options: dict[str, Any]


@dataclass
class Graph:
    """Steps in order, the constants they use, and what goes in and comes out by name.

    Inside, a column of events is (n, 1), so that it broadcasts with (n, k) and (members, n, k).
    What two parts of a model have in common is one step, and one constant. A target that can raise
    errors does so where one of the `demands`, a condition by its name, does not hold; in others NaN
    has to do.
    """

    inputs: dict[str, Input] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    demands: dict[str, str] = field(default_factory=dict)
    _known: dict[Any, Value] = field(default_factory=dict)

    def input(self, name: str, description: Input = Input()) -> Value:
        """Declare an input: a column of numbers or text, (n,), or a table of numbers (n, width)."""
        if name in self.inputs:
            raise ValueError(f"two inputs would be called {name!r}; rename the columns")
        self.inputs[name] = description
        value = Value(self, name)
        return value if description.kind == "table" else self.add("Unsqueeze", value, axes=[1])

    def output(self, name: str, column: Value) -> None:
        """Declare a column to be an output, (n,)."""
        if name in self.inputs:
            raise ValueError(f"an input is called {name!r} like the output; rename that column")
        self.nodes.append(Node("Squeeze", [column.name], name, {"axes": [1]}))
        self.outputs.append(name)

    def constant(self, array: ArrayLike) -> Value:
        """Return an array that never changes; only NumPy's integers are not double."""
        integers = isinstance(array, np.ndarray | np.integer) and array.dtype.kind == "i"
        values = np.asarray(array, dtype=np.int64 if integers else np.float64)
        key = (values.dtype.str, values.shape, values.tobytes())
        if key not in self._known:
            name = f"constant_{len(self.constants)}"
            self.constants[name], self._known[key] = values, Value(self, name)
        return self._known[key]

    def add(self, operation: str, *operands: Operand, **options: Any) -> Value:
        """Append a step and return its result."""
        values = [x if isinstance(x, Value) else self.constant(x) for x in operands]
        names, output = [value.name for value in values], f"step_{len(self.nodes)}"
        key = (operation, *names, repr(options))
        if key not in self._known:
            self.nodes.append(Node(operation, names, output, options))
            self._known[key] = Value(self, output)
        return self._known[key]

    def where(self, condition: Value, chosen: Operand, otherwise: Operand) -> Value:
        """Return one value where the condition holds and the other elsewhere."""
        return self.add("Where", condition, chosen, otherwise)

    def take(self, table: Operand, index: Value) -> Value:
        """Return the entries of a column at these places."""
        if index.name in self.constants and not isinstance(table, Value):
            return self.constant(np.asarray(table)[self.constants[index.name]])
        return self.add("Gather", table, index, axis=0)

    def demand(self, condition: Value, otherwise: str) -> None:
        """Declare what must hold for every event, and what to say if it does not."""
        self.demands[condition.name] = otherwise

    def count_below(self, knots: Floats, value: Value) -> Value:
        """Return how many of the increasing knots lie below each value; a NaN is above none."""
        if not len(knots):
            return self.constant(np.zeros((1, 1), dtype=np.int64))
        return self.add("CountBelow", knots, value)

    def interpolate(self, axes: list[tuple[Floats, Value]], table: Floats) -> Value:
        """Return a table at these places, linear between the nodes along every axis."""
        return self.mixture(axes, table, self.constant(np.int64(0)))

    def mixture(self, axes: list[tuple[Floats, Value]], table: Floats, column: Value) -> Value:
        """Return the same along the first axes of a table, for one place on its last."""
        table = np.ascontiguousarray(table)
        entries, corner, ways = self.constant(table.ravel()), column, []
        strides = np.array(table.strides)[: len(axes)] // table.itemsize
        for (nodes, value), stride in zip(axes, strides, strict=True):
            left = self.count_below(nodes[1:-1], value)
            corner = corner + left * stride
            share = (value - self.take(nodes[:-1], left)) / self.take(np.diff(nodes), left)
            ways.append((stride, share))

        def mixed(here: Value, ways: list[tuple[np.int64, Value]]) -> Value:
            if not ways:
                return self.take(entries, here)
            (stride, share), *others = ways
            low, high = mixed(here, others), mixed(here + stride, others)
            return low + share * (high - low)

        return mixed(corner, ways)

    def softplus(self, x: Value) -> Value:
        """Return log(1 + exp x), which onnxruntime does not have in double precision."""
        small = self.add("Exp", -1.0 * self.add("Abs", x))
        return self.add("Relu", x) + self.add("Log", 1 + small)

    def logit(self, x: Value, low: float, high: float) -> Value:
        """Return the logit of levels that are kept to a range."""
        x = x.clip(low, high)
        return self.add("Log", x / (1 - x))
