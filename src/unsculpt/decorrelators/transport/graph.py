"""The map of vectors, and what comes before and after it, as steps of a graph."""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert
from scipy.special import ndtr

from unsculpt.decorrelators.transport.coordinates import Base, VectorCoordinates, from_normal
from unsculpt.flows.convex import FLATTEST, WIDTH, ConvexPotential
from unsculpt.flows.graph import all_but_last, linear
from unsculpt.graph import Graph, Value

# Where a normal ends, and nodes up to there: lines between them are right to 4e-8.
FARTHEST, NODES = 9.0, 2**14 + 1
NEWTON_STEPS = 12  # five were seen to reach 1e-11
TINY = 1e-300


def vectors_graph(graph: Graph, coordinates: VectorCoordinates, columns: list[Value]) -> Value:
    """Return the coordinates of scores, or of the logs of probabilities, (n, d)."""
    plane = graph.add("Concat", *columns, axis=-1)
    if coordinates.simplex:
        plane = plane @ helmert(len(columns)).T
    return (plane - coordinates.centre) / coordinates.scale


def probabilities_graph(graph: Graph, plane: Value, dimensions: int) -> Value:
    """Return the probabilities with these log-ratios, (n, d)."""
    return graph.add("Softmax", plane @ helmert(dimensions + 1), axis=-1)


def even_graph(graph: Graph, normal: Value, dimensions: int, base: Base) -> Value:
    """Return `from_normal` of vectors, (n, d), by its table along one axis."""
    if base == "cube":
        nodes = np.linspace(-FARTHEST, FARTHEST, NODES)
        return graph.interpolate([(nodes, normal.clip(-FARTHEST, FARTHEST))], ndtr(nodes))
    nodes = np.linspace(0, FARTHEST, NODES)
    along = from_normal(np.outer(nodes, np.eye(dimensions)[0]), base)[:, 0]
    square = _dot(graph, normal, normal).clip(TINY, np.inf)
    radius = graph.add("Exp", 0.5 * graph.add("Log", square))
    return normal / radius * graph.interpolate([(nodes, radius.clip(0.0, FARTHEST))], along)


class PotentialGraph:
    """The mean of an ensemble of convex potentials at some features, (n, f) or (1, f).

    Its parts are (members, n, ...), or (members, 1, ...) of features that all events share.
    """

    def __init__(self, graph: Graph, potentials: ConvexPotential, features: Value) -> None:
        self.graph = graph
        self.first, self.second = map(np.asarray, (potentials.first, potentials.second))
        self.joint = np.logaddexp(np.asarray(potentials.joint), 0) / WIDTH
        self.d = d = self.first.shape[-1]
        hidden, last = all_but_last(graph, potentials.conditioner, features)
        ends = np.cumsum([0, *[d] * (d + 1), *[WIDTH] * 3])
        numbers = [linear(last, hidden, *ends[i : i + 2]) for i in range(d + 4)]
        self.rows = [row + unit for row, unit in zip(numbers, np.eye(d), strict=False)]
        self.shift, offsets = numbers[d], np.asarray(potentials.offsets)
        self.into_first = numbers[d + 1] + offsets[:, :1]
        self.into_second = numbers[d + 2] + offsets[:, 1:]
        self.strength = graph.add("Exp", numbers[d + 3]) / WIDTH

    def forward(self, vectors: Value) -> Value:
        """Return where the map takes vectors, (n, d)."""
        one, _, pull = self._layers(vectors)
        moved = (pull @ self.joint * one) @ self.first + pull @ self.second
        return self._mean(moved + self._parabola(vectors) + self.shift)

    def inverse(self, moved: Value) -> Value:
        """Return the vectors that go there, by as many steps of Newton's method as suffice."""
        vectors, size = 0.0 * moved, self.graph.constant([[1.0]])
        distance, step = self._newton(vectors, moved)
        for _ in range(NEWTON_STEPS):
            tried = vectors + size * step
            off, following = self._newton(tried, moved)
            closer = off < distance  # with a shorter step it is
            vectors, distance, step, size = (
                self.graph.where(closer, new, old)
                for new, old in (
                    (tried, vectors),
                    (off, distance),
                    (following, step),
                    (1.0, size / 2.0),
                )
            )
        return vectors

    def _newton(self, vectors: Value, moved: Value) -> tuple[Value, Value]:
        """Return how far off these vectors are, squared, and the step to better ones."""
        left = moved - self.forward(vectors)
        distance = square = _dot(self.graph, left, left)
        step, way = 0.0 * left, left
        for _ in range(self.d):  # of conjugate gradients, which solve in as many as dimensions
            bent = self._jacobian(vectors, way)
            size = square / _dot(self.graph, way, bent).clip(TINY, np.inf)
            step, left = step + size * way, left - size * bent
            before, square = square, _dot(self.graph, left, left)
            way = left + square / before.clip(TINY, np.inf) * way
        return distance, step

    def _jacobian(self, vectors: Value, way: Value) -> Value:
        """Return how the map changes along a way."""
        one, two, pull = self._layers(vectors)
        along = one * (way @ self.first.swapaxes(1, 2))
        outer = along @ self.joint.swapaxes(1, 2) + way @ self.second.swapaxes(1, 2)
        bent = pull * (1.0 - two) * outer
        inner = bent @ self.joint * one + pull @ self.joint * along * (1.0 - one)
        return self._mean(inner @ self.first + bent @ self.second + self._parabola(way))

    def _layers(self, vectors: Value) -> tuple[Value, Value, Value]:
        """Return the slopes of both layers of units, and of the second with their strengths."""
        inner = vectors @ self.first.swapaxes(1, 2) + self.into_first
        joined = self.graph.softplus(inner) @ self.joint.swapaxes(1, 2)
        outer = joined + vectors @ self.second.swapaxes(1, 2) + self.into_second
        one, two = (self.graph.add("Sigmoid", x) for x in (inner, outer))
        return one, two, self.strength * two

    def _parabola(self, vectors: Value) -> Value:
        """Return the parabola's matrix, the square of another one, times vectors."""
        return sum(
            (row * _dot(self.graph, row, vectors) for row in self.rows), start=FLATTEST * vectors
        )

    def _mean(self, vectors: Value) -> Value:
        return self.graph.add("ReduceMean", vectors, axes=[0], keepdims=0)


def _dot(graph: Graph, a: Value, b: Value) -> Value:
    return graph.add("ReduceSum", a * b, axes=[-1], keepdims=1)
