"""The steps of a graph as lines of C++, for one event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from unsculpt.graph import Graph, Node

# What nothing may be called in C++, up to C++20; `std` could be, and must not.
WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq parts private protected public register reinterpret_cast requires
    return short signed sizeof static static_assert static_cast std struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq"""
LONGEST = 300  # of an expression that is written where it is used
LARGE = 2**16  # numbers of a table that is packed
MOST = 2**32 - 1
BINARY = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Less": "<",
    "Greater": ">",
    "Equal": "==",
}
UNARY = {
    "Exp": "std::exp",
    "Log": "std::log",
    "Abs": "std::abs",
    "Sqrt": "std::sqrt",
    "Tanh": "std::tanh",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
}
TYPES = {"number": "double", "text": "std::string_view", "table": "const double*"}
INLINE = {*BINARY, *UNARY, "Where", "CountBelow", "Cast"}
KINDS = {"f": "double", "i": "std::int64_t", "b": "bool"}
LETTERS = "ijkl"


def word(name: str) -> str:
    """Return a name that is none of the words of C++."""
    return f"{name}_" if name in WORDS.split() else name


def quoted(text: str) -> str:
    """Return text in quotes, whatever is in it."""
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{"".join(plain)}"'


def number(value: Any) -> str:
    """Return a number in the shortest text that gives it back."""
    if isinstance(value, np.integer):
        return str(value)
    if np.isfinite(value):
        return repr(float(value))
    limits = "std::numeric_limits<double>::"
    if np.isnan(value):
        return f"{limits}quiet_NaN()"
    return f"{limits}infinity()" if value > 0 else f"-{limits}infinity()"


class Steps:
    """Prints a graph for one event: all shapes are known, and an array of one is a number.

    Large tables are whole numbers of 32 bits, equal steps from their least entry to the largest.
    That is exact to 1.2e-10 of their range, and half as much to compile and to fetch from memory.
    The first map of a chain is not among them, as the second one may have an atom where it ends.

    Attributes:
        arguments: the names of the inputs in C++, and their types.
        packed: the least entry of each large table, and the step.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.shapes = {name: array.shape for name, array in graph.constants.items()}
        self.types: dict[str, str] = {
            name: array.dtype.kind for name, array in graph.constants.items()
        }
        self.arguments = {
            word(name): TYPES[description.kind] for name, description in graph.inputs.items()
        }
        self.names = {name: word(name) for name in graph.inputs}
        for name, description in graph.inputs.items():
            self.shapes[name] = (1, description.width) if description.kind == "table" else (1,)
            self.types[name] = "f"
        needed = {*graph.outputs, *graph.demands}
        nodes = []
        for node in reversed(graph.nodes):
            if node.output in needed:
                needed |= set(node.inputs)
                nodes.append(node)
        self.nodes, self.needed = nodes[::-1], needed
        self.users: dict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for name in node.inputs:
                self.users[name].append(node)
            self.shapes[node.output] = self._shape(node)
            self.types[node.output] = self._type(node)
            if node.operation in ("Unsqueeze", "Squeeze"):  # the same numbers
                self.names[node.output] = self.names.get(node.inputs[0], node.inputs[0])
        compared = self._compared()
        self.packed = {
            name: (float(array.min()), float(np.ptp(array)) / MOST)
            for name, array in graph.constants.items()
            if array.size > LARGE
            and name not in compared
            and all(x.inputs[0] == name and x.operation == "Gather" for x in self.users[name])
        }

    def _compared(self) -> set[str]:
        """Return what goes into a comparison for equality: an atom is met to the last bit."""
        found: set[str] = set()
        for node in reversed(self.nodes):
            if node.operation == "Equal" or node.output in found:
                found |= set(node.inputs)
        return found

    def _shape(self, node: Node) -> tuple[int, ...]:
        shapes, options = [self.shapes[x] for x in node.inputs], node.options
        match node.operation:
            case "MatMul":
                a, b = shapes
                return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
            case "Gather":
                table, index = shapes
                axis = options["axis"]
                return (*table[:axis], *index, *table[axis + 1 :])
            case "CountBelow":
                return shapes[1]
            case "Concat":
                width = sum(shape[-1] for shape in shapes)
                return (*np.broadcast_shapes(*(shape[:-1] for shape in shapes)), width)
            case "Unsqueeze":
                (axis,) = options["axes"]
                return (*shapes[0][:axis], 1, *shapes[0][axis:])
            case "Squeeze":
                (axis,) = options["axes"]
                return (*shapes[0][:axis], *shapes[0][axis + 1 :])
            case "ReduceSum" | "ReduceMean":
                axes = [axis % len(shapes[0]) for axis in options["axes"]]
                kept = [1 if i in axes else size for i, size in enumerate(shapes[0])]
                if not options["keepdims"]:
                    kept = [size for i, size in enumerate(kept) if i not in axes]
                return tuple(kept)
            case _:
                return np.broadcast_shapes(*shapes)

    def _type(self, node: Node) -> str:
        match node.operation:
            case "Less" | "Greater" | "Equal":
                return "b"
            case "CountBelow":
                return "i"
            case "Cast":
                return str(np.dtype(node.options["to"]).kind)
            case "LabelEncoder":
                return "f"
            case "Where":
                return self.types[node.inputs[1]]
            case _:
                return self.types[node.inputs[0]]

    def size(self, name: str) -> int:
        """Return how many numbers an array holds."""
        return int(np.prod(self.shapes[name]))

    def item(self, name: str, index: str = "0") -> str:
        """Return an entry of an array."""
        name, several = self.names.get(name, name), self.size(name) > 1
        if name in self.graph.constants and not several:
            return number(self.graph.constants[name].ravel()[0])
        entry = f"{name}[{index}]" if several else name
        if name in self.packed:
            low, unit = map(number, self.packed[name])
            return f"{low} + {unit} * {entry}"
        return entry

    def at(self, name: str, indices: Sequence[str]) -> str:
        """Return the entry at some indices, of which an array of fewer axes has the last."""
        shape = self.shapes[name]
        own = indices[len(indices) - len(shape) :]
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        terms = [
            index if stride == 1 else f"{stride} * {index}"
            for index, size, stride in zip(own, shape, strides, strict=True)
            if size > 1
        ]
        return self.item(name, " + ".join(terms) or "0")

    def constants(self) -> Iterator[str]:
        """Return the arrays, and what searches in them."""
        searched = {node.inputs[0] for node in self.nodes if node.operation == "CountBelow"}
        for name, array in self.graph.constants.items():
            if name in searched:
                array = np.append(array, 3 * [np.inf])
            elif name not in self.needed or array.size == 1:
                continue
            kind = KINDS[array.dtype.kind]
            if name in self.packed:
                low, unit = self.packed[name]
                kind, array = "std::uint32_t", np.rint((array - low) / unit).astype(np.int64)
            items = ",".join(map(number, array.ravel()))
            yield f"inline constexpr {kind} {name}[{array.size}] = {{{items}}};"
        for node in self.nodes:
            if node.operation == "CountBelow":
                knots = self.graph.constants[node.inputs[0]]
                buckets = 2 ** (len(knots).bit_length() + 1)
                with np.errstate(all="ignore"):
                    scale = buckets / (knots[-1] - knots[0])
                # Where there is no scale everything is in one bucket.
                arguments = f"{node.inputs[0]}, {number(scale if np.isfinite(scale) else 0.0)}"
                kind = f"Locator<{len(knots)}, {buckets}>"
                yield f"inline constexpr {kind} search_for_{node.output}({arguments});"
            elif node.operation == "LabelEncoder":
                keys = ", ".join(
                    f"{{{quoted(key)}, {len(key.encode())}}}" for key in node.options["keys"]
                )
                yield f"inline constexpr std::string_view keys_of_{node.output}[] = {{{keys}}};"

    def lines(self) -> Iterator[str]:
        """Return the steps."""
        for node in self.nodes:
            yield from self._lines(node)
            if node.output in self.graph.demands:
                sentence = quoted(self.graph.demands[node.output])
                yield f"if (!{node.output}) throw std::out_of_range({sentence});"

    def _lines(self, node: Node) -> Iterator[str]:
        out, operation, options = node.output, node.operation, node.options
        shape, kind = self.shapes[out], KINDS[self.types[out]]
        letters = LETTERS[: len(shape)]
        match operation:
            case "Unsqueeze" | "Squeeze":
                return
            case "MatMul":
                a, b = node.inputs
                # Over the batch, the row, what is summed, and the column.
                batch, row, column, k = letters[:-2], letters[-2], letters[-1], "q"
                inner = self.shapes[a][-1]
                term = f"{self.at(a, batch + row + k)} * {self.at(b, batch + k + column)}"
                ranges = zip(
                    letters[:-1] + k + column, (*shape[:-1], inner, shape[-1]), strict=True
                )
                yield from self._sum(out, list(ranges), self.at(out, letters), term)
            case "ReduceSum" | "ReduceMean":
                before = self.shapes[node.inputs[0]]
                axes = [axis % len(before) for axis in options["axes"]]
                every = LETTERS[: len(before)]
                kept = every if options["keepdims"] else _without(every, axes)
                term = self.at(node.inputs[0], every)
                if operation == "ReduceMean":
                    term += f" / {np.prod([before[axis] for axis in axes])}.0"
                ranges = zip(every, before, strict=True)
                yield from self._sum(out, list(ranges), self.at(out, kept), term)
            case "Concat" if len(node.inputs) > 1:
                yield f"{kind} {out}[{self.size(out)}];"
                first = 0
                for name in node.inputs:
                    width = self.shapes[name][-1]
                    last = f"{first} + {letters[-1]}" if width > 1 else f"{first}"
                    to, entry = self.at(out, [*letters[:-1], last]), self.at(name, letters)
                    loops = _loops(zip(letters, (*shape[:-1], width), strict=True))
                    yield f"{loops}{to} = {entry};"
                    first += width
            case "Softmax":
                yield f"{kind} {out}[{self.size(out)}];"
                yield f"softmax({node.inputs[0]}, {out}, {shape[-1]});"
            case _:
                yield from self._each(out, self._expression(node, letters))

    def _expression(self, node: Node, letters: str) -> str:
        """Return an entry of what a step gives, from those of its inputs."""
        if node.operation == "Gather":
            table, index = node.inputs
            axis, places = node.options["axis"], len(self.shapes[index])
            entry = self.at(index, letters[axis : axis + places])
            return self.at(table, [*letters[:axis], entry, *letters[axis + places :]])
        if node.operation == "CountBelow":
            return f"search_for_{node.output}.below({self.at(node.inputs[1], letters)})"
        x = [self.at(name, letters) for name in node.inputs]
        match node.operation:
            case operation if operation in BINARY:
                return f"{x[0]} {BINARY[operation]} {x[1]}"
            case operation if operation in UNARY:
                return f"{UNARY[operation]}({x[0]})"
            case "Where":
                return f"{x[0]} ? {x[1]} : {x[2]}"
            case "Cast":
                return f"static_cast<{KINDS[self.types[node.output]]}>({x[0]})"
            case "Concat":
                return x[0]
            case "LabelEncoder":
                return f"place(keys_of_{node.output}, {x[0]})"
            case other:
                raise NotImplementedError(f"{other} has no C++")

    def _each(self, out: str, expression: str) -> Iterator[str]:
        """Set every entry of an array."""
        kind, shape = KINDS[self.types[out]], self.shapes[out]
        if self.size(out) == 1:
            if self._used_once(out) and len(expression) < LONGEST:
                # A choice then computes only what it chooses.
                self.names[out] = f"({expression})"
            else:
                yield f"const {kind} {out} = {expression};"
        else:
            letters = LETTERS[: len(shape)]
            yield f"{kind} {out}[{self.size(out)}];"
            loops = _loops(zip(letters, shape, strict=True))
            yield f"{loops}{self.at(out, letters)} = {expression};"

    def _used_once(self, name: str) -> bool:
        """Whether one step that is a number itself needs it, and nothing else."""
        users = self.users[name]
        if len(users) != 1 or name in self.graph.demands:
            return False
        return self.size(users[0].output) == 1 and users[0].operation in INLINE

    def _sum(self, out: str, ranges: list[tuple[str, int]], to: str, term: str) -> Iterator[str]:
        """Add terms to the entries of an array."""
        size = self.size(out)
        yield f"double {out}[{size}] = {{}};" if size > 1 else f"double {out} = 0;"
        yield f"{_loops(ranges)}{to} += {term};"


def _loops(ranges: Iterable[tuple[str, int]]) -> str:
    """Return the loops over indices with more than one value."""
    return "".join(
        f"for (int {letter} = 0; {letter} < {size}; ++{letter}) "
        for letter, size in ranges
        if size > 1
    )


def _without(letters: str, axes: list[int]) -> str:
    return "".join(letter for i, letter in enumerate(letters) if i not in axes)
