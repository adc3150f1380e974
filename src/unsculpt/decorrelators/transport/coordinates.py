"""The plane in which a score of several components lives, and where it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import helmert
from scipy.special import gammainc, gammaincinv, gammaln, log_softmax, ndtr, ndtri, softmax

from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats

Base = Literal["normal", "source", "simplex", "ball", "cube"]

# Classifiers round small probabilities to zero, whose logarithm is no place to go.
SMALLEST = 1e-12
ROUNDING = 1e-4


@dataclass(frozen=True)
class VectorCoordinates:
    """Scores at mean zero and variance one; probabilities through their log-ratios.

    The log-ratios of k probabilities fill a space of k - 1 dimensions, in which no class is
    special (Egozcue et al., "Isometric logratio transformations", 2003). One scale for all of
    them keeps it so; other scores have one scale each, so that their units do not matter.

    Attributes:
        centre: (d,), the mean.
        scale: (d,), the standard deviations.
        simplex: whether the scores are probabilities.
    """

    centre: Floats
    scale: Floats
    simplex: bool

    @classmethod
    def measure(cls, scores: Floats) -> VectorCoordinates:
        """Measure them on a sample; rows that sum to one are probabilities."""
        simplex = scores.shape[1] > 1 and on_simplex(scores)
        plane = log_ratios(scores) if simplex else scores
        scale = plane.std(axis=0)
        if simplex:
            scale = np.full_like(scale, np.sqrt(np.mean(scale**2)))
        return cls(plane.mean(axis=0), scale, simplex)

    def __call__(self, scores: Floats) -> Floats:
        """Return the coordinates of scores, (n, d)."""
        return ((log_ratios(scores) if self.simplex else scores) - self.centre) / self.scale

    def inverse(self, coordinates: Floats) -> Floats:
        """Return the scores at these coordinates."""
        plane = coordinates * self.scale + self.centre
        return probabilities(plane) if self.simplex else plane

    def log_volume(self, scores: Floats) -> Floats:
        """Return the log of the volume of the coordinates over that of the scores.

        Of probabilities, all but the last.
        """
        volume = np.full(len(scores), -np.log(self.scale).sum())
        if self.simplex:
            volume -= log_probabilities(scores).sum(axis=1) + np.log(scores.shape[1]) / 2
        return volume


def on_simplex(scores: Floats) -> bool:
    """Return whether all rows are probabilities of exclusive classes."""
    return bool(np.all(scores >= 0) and np.all(np.abs(scores.sum(axis=1) - 1) < ROUNDING))


def simplex_graph(graph: Graph, scores: list[Value]) -> tuple[list[Value], Value]:
    """Return the logs of probabilities as steps of a graph, and NaN for what are none, else 0."""
    off = graph.add("Abs", sum(scores[1:], start=scores[0]) - 1.0)
    wrong = graph.where(off > ROUNDING, 1.0, 0.0)
    for score in scores:
        wrong = graph.where(score < 0.0, 1.0, wrong)
    known = wrong < 0.5  # as NaN is, which stays what it is
    graph.demand(known, "the probabilities do not sum to one")
    logs = [graph.add("Log", graph.where(s < SMALLEST, SMALLEST, s)) for s in scores]
    return logs, graph.where(known, 0.0, np.nan)


def from_normal(normal: Floats, base: Base) -> Floats:
    """Return standard normal vectors spread evenly over the unit ball or cube."""
    if base == "cube":
        return np.asarray(ndtr(normal))
    radius = np.linalg.norm(normal, axis=1, keepdims=True)
    d = normal.shape[1]
    share = gammainc(d / 2, radius**2 / 2)  # how much of the normal lies further in
    return np.asarray(normal / np.maximum(radius, np.finfo(float).tiny) * share ** (1 / d))


def to_normal(even: Floats, base: Base) -> Floats:
    """Return the normal vectors that `from_normal` spread evenly; at the very edge, far out."""
    radius = np.linalg.norm(even, axis=1, keepdims=True)
    off = np.abs(even - 0.5).max(axis=1) - 0.5 if base == "cube" else radius[:, 0] - 1
    beyond = np.count_nonzero(off > 1e-9)
    if beyond:
        raise ValueError(
            f"moved is outside the unit {base} in {beyond:,} of {len(even):,} events; expected "
            "what transform gives"
        )
    if base == "cube":
        return np.asarray(ndtri(np.clip(even, 1e-16, 1 - 1e-16)))
    d = even.shape[1]
    far = np.sqrt(2 * gammaincinv(d / 2, np.minimum(radius**d, 1 - 1e-16)))
    return np.asarray(even / np.maximum(radius, np.finfo(float).tiny) * far)


def log_probabilities(scores: Floats) -> Floats:
    """Return the logs of probabilities, none of which counts as zero."""
    return np.asarray(np.log(np.maximum(scores, SMALLEST)))


def log_ratios(scores: Floats) -> Floats:
    """Return the isometric log-ratios of probabilities, (n, classes - 1)."""
    return np.asarray(log_probabilities(scores) @ helmert(scores.shape[1]).T)


def probabilities(plane: Floats) -> Floats:
    """Return the probabilities with these isometric log-ratios."""
    return np.asarray(softmax(plane @ helmert(plane.shape[1] + 1), axis=1))


def log_density(plane: Floats, base: Base) -> Floats:
    """Return the log density of the base, in the plane where the map ends."""
    d = plane.shape[1]
    if base != "simplex":
        return np.asarray(-(plane**2 + np.log(2 * np.pi)).sum(axis=1) / 2)
    logs = log_softmax(plane @ helmert(d + 1), axis=1)
    return np.asarray(logs.sum(axis=1) + gammaln(d + 1) + np.log(d + 1) / 2)


def draw(events: int, dimensions: int, base: Base, seed: int) -> Floats:
    """Draw from the base, in the plane where the map ends."""
    rng = np.random.default_rng(seed)
    if base == "simplex":
        return log_ratios(rng.dirichlet(np.ones(dimensions + 1), size=events))
    return rng.normal(size=(events, dimensions))
