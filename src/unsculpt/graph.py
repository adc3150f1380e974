"""A program over columns of events, in the words of ONNX: written once, run by any target.

Each part of a model writes its own steps, beside the code that computes them here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import Floats

Kind = Literal["number", "text", "table"]


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
    What two parts of a model have in common is one step, and one constant.
    """

    inputs: dict[str, tuple[Kind, int]] = field(default_factory=dict)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    _known: dict[Any, Value] = field(default_factory=dict)

    def input(self, name: str, kind: Kind = "number", width: int = 1) -> Value:
        """Declare an input: a column of numbers or text, (n,), or a table of numbers (n, width)."""
        if name in self.inputs:
            raise ValueError(f"two inputs would be called {name!r}; rename the columns")
        self.inputs[name] = (kind, width)
        value = Value(self, name)
        return value if kind == "table" else self.add("Unsqueeze", value, axes=[1])

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
        return self.add("Gather", table, index, axis=0)

    def count_below(self, knots: Floats, value: Value) -> Value:
        """Return how many of the increasing knots lie below each value.

        ONNX has no search in a sorted list: this is bisection, unrolled, ten steps for a thousand
        knots. A NaN is above none.
        """
        place = self.constant(np.zeros((1, 1), dtype=np.int64))
        steps = [2**i for i in reversed(range(len(knots).bit_length()))]
        padded = np.pad(knots, (0, sum(steps) - len(knots)), constant_values=np.inf)
        for step in steps:
            below = self.take(padded[step - 1 :], place) < value
            place = self.where(below, place + np.int64(step), place)
        return place

    def interpolate(self, axes: list[tuple[Floats, Value]], table: Floats) -> Value:
        """Return a table at these places, linear between the nodes along every axis."""
        strides = np.array(table.strides) // table.itemsize
        corner, shares = self.constant(np.int64(0)), []
        for (nodes, value), stride in zip(axes, strides, strict=True):
            left = self.count_below(nodes[1:-1], value)
            corner = corner + left * stride
            shares.append((value - self.take(nodes[:-1], left)) / self.take(np.diff(nodes), left))
        total, entries = self.constant(0.0), self.constant(table.ravel())
        for ends in product((0, 1), repeat=len(axes)):
            term = self.take(entries, corner + strides @ ends)
            for end, share in zip(ends, shares, strict=True):
                term = term * (share if end else 1 - share)
            total = total + term
        return total

    def softplus(self, x: Value) -> Value:
        """Return log(1 + exp x), which onnxruntime does not have in double precision."""
        small = self.add("Exp", -1.0 * self.add("Abs", x))
        return self.add("Relu", x) + self.add("Log", 1 + small)

    def logit(self, x: Value, low: float, high: float) -> Value:
        """Return the logit of levels that are kept to a range."""
        x = x.clip(low, high)
        return self.add("Log", x / (1 - x))
