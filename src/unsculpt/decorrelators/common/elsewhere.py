"""Where the score of an event goes as its protected attributes do: to the same level there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.devices import in_threads
from unsculpt.graph import Graph, Input, Value
from unsculpt.inputs import Floats

if TYPE_CHECKING:
    from unsculpt.decorrelators.base import ConditionalCDF

PLACES = np.linspace(0, 1, 1025)  # of a score's coordinate, where a quantile function has nodes
LEVELS = np.union1d(PLACES, expit(np.linspace(-16, 16, 1025)))  # where a mean of several has them

RANDOM = Input(expression="a random number, evenly from 0 to 1")

QuantileFunction = tuple[Floats, Floats]
"""Levels, increasing, and the scores there."""
Scatter = Callable[[NDArray[np.intp]], Floats]
"""Gives a number from 0 to 1 for some of the events."""


def moved_score(
    cdf: ConditionalCDF,
    score: Floats,
    features: Floats,
    to: Floats | QuantileFunction,
    scatter: Scatter | None = None,
    higher: float = 0.0,
) -> Floats:
    """Return the scores elsewhere that have the levels these have here.

    Args:
        cdf: of the score.
        score: (n,).
        features: coordinates of the attributes here, (n, f).
        to: coordinates elsewhere, (n, f), or the quantile function there.
        scatter: gives the levels of atoms in their jump; None for its middle.
        higher: is added to the levels, to see what an error of them does.
    """
    low, high = cdf.range
    inside = np.clip(score, low, high)
    level = in_threads(cdf.cdf, inside, features)
    if scatter is not None:
        level = _scattered(cdf, score, features, level, scatter)
    if higher:
        level = np.clip(level + higher, 0, 1)
    if isinstance(to, np.ndarray):
        there = in_threads(cdf.inverse, level, to)
    else:
        there = np.interp(level, *to)
    # Beyond the scores of the fit, as far as the nearest of them: ordered, and no jump.
    return np.asarray(np.clip(there, low, high) + (score - inside))


def quantile_function(cdf: ConditionalCDF, at: Background) -> QuantileFunction:
    """Return the mean of the quantile functions at some points.

    At one of them it is the inverse of the CDF: what a table is between its nodes, it is too.
    """
    coordinate = cdf.coordinate
    # A table is linear between its own nodes.
    nodes = getattr(getattr(cdf, "table", None) or cdf, "score", np.empty(0))
    places = coordinate.inverse(np.concatenate([PLACES, nodes]))
    scores = np.unique(np.concatenate([coordinate.quantiles, places]).clip(*cdf.range))
    atoms = atoms_of(cdf)
    where = np.concatenate([scores, atoms, atoms])
    mean = np.zeros(len(LEVELS))
    for point, weight in zip(at.features, at.weight, strict=True):
        level = np.concatenate(
            [
                cdf.cdf(scores, np.tile(point, (len(scores), 1))),
                *_jumps(cdf, atoms, np.tile(point, (len(atoms), 1))),
            ]
        )
        order = np.lexsort([level, where])
        level, score = _rising(np.maximum.accumulate(level[order]), where[order])
        if len(at.weight) == 1:
            return level, score
        mean += weight * np.interp(LEVELS, level, score)
    return LEVELS, mean


def _rising(level: Floats, score: Floats) -> QuantileFunction:
    """Return levels that rise from one to the next, with the scores there.

    Where the curve is flat no event has its level, so that the score jumps there, within rounding:
    between two atoms there is nothing.
    """
    level, rows, counts = np.unique(level, return_index=True, return_counts=True)
    first, last = score[rows], score[rows + counts - 1]
    flat = last > first
    both = np.concatenate([level, level[flat] + np.finfo(float).eps])
    both, rows = np.unique(both, return_index=True)
    return both, np.maximum.accumulate(np.concatenate([first, last[flat]])[rows])


def placed(attributes: ProtectedAttributes, features: Floats, values: dict[str, Any]) -> Floats:
    """Return coordinates with some attributes elsewhere: at one value, or at one for each event."""
    out, first = features.copy(), 0
    for attribute in attributes.attributes:
        if attribute.name in values:
            column = np.atleast_1d(values[attribute.name])
            out[:, first : first + attribute.width] = attribute.features(column)
        first += attribute.width
    return out


def placed_graph(
    graph: Graph, attributes: ProtectedAttributes, features: Value, values: dict[str, Any]
) -> Value:
    """Return the same, of attributes at one value, as steps of a graph."""
    # What stays has no value here yet.
    there = placed(attributes, np.full((1, attributes.width), np.nan), values)
    stays = np.isnan(there)
    return features * stays.astype(float) + np.where(stays, 0, there)


def level_graph(
    graph: Graph, cdf: ConditionalCDF, score: Value, features: Value, drawn: int | None
) -> Value:
    """Return the levels of scores, kept to the range of the fit, as steps of a graph.

    Those of atoms are drawn by a random number of the event, the input of this number.
    """
    atoms, (lowest, highest) = atoms_of(cdf), cdf.range
    inside = score.clip(lowest, highest)
    if drawn is None or not len(atoms):
        return cdf.graph(graph, inside, features)
    nearest = graph.count_below(np.nextafter(atoms[1:], -np.inf), inside)
    at_atom = graph.take(atoms, nearest).equals(inside)
    ends = (graph.take(np.nextafter(atoms, end), nearest) for end in (-np.inf, np.inf))
    low, high = (cdf.graph(graph, graph.where(at_atom, end, inside), features) for end in ends)
    share = graph.where(score < lowest, 0.0, _random(graph, f"random_{drawn}"))
    share = graph.where(score > highest, 1.0, share)
    return low + share * (high - low)


def _random(graph: Graph, name: str) -> Value:
    """Return a random number of the event, which is one input for all folds."""
    if graph.inputs.get(name) is not RANDOM:
        return graph.input(name, RANDOM)
    return graph.add("Unsqueeze", Value(graph, name), axes=[1])


def atoms_of(cdf: ConditionalCDF) -> Floats:
    """Return the scores that many events share."""
    knots, start, end = cdf.coordinate.steps
    return knots[end > start]


def _jumps(cdf: ConditionalCDF, atoms: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Return the levels at which the jump of each atom starts and ends."""
    cdf_there = getattr(cdf, "at_jump", cdf.cdf)
    low, high = (cdf_there(np.nextafter(atoms, end), features) for end in (-np.inf, np.inf))
    return low, high


def _scattered(
    cdf: ConditionalCDF, score: Floats, features: Floats, level: Floats, scatter: Scatter
) -> Floats:
    """Return the levels with those of atoms drawn from their jumps.

    Beyond an atom at an end of the fit it is that end of its jump, or scores would lose their
    order.
    """
    lowest, highest = cdf.range
    inside = np.clip(score, lowest, highest)
    rows = np.flatnonzero(np.isin(inside, atoms_of(cdf)))
    low, high = _jumps(cdf, inside[rows], features[rows])
    share = np.where(inside[rows] == score[rows], scatter(rows), score[rows] > highest)
    level = level.copy()
    level[rows] = low + (high - low) * share
    return level
