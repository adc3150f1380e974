"""Moved scores for correctionlib: grids over the attributes and the score itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from unsculpt.decorrelators.base import ConditionalCDF
from unsculpt.decorrelators.common.tables import table_of
from unsculpt.export.coordinates import (
    Attributes,
    apart,
    attribute_nodes,
    continuous,
    grid,
    thinned,
)
from unsculpt.export.schema import Content, binning
from unsculpt.inputs import Floats

HALVINGS = 2  # of all distances, until lines between the nodes hold the tolerance
DIGITS = 14


def moved_content(
    cdf: ConditionalCDF,
    moved: Callable[[list[Floats], Floats, float], Floats],
    of_all: Callable[[list[Content]], Content],
    attributes: Attributes,
    score: str,
    tolerance: float,
) -> Content:
    """Return where a score moves to, for some categories; sees coordinates of other attributes.

    Between two atoms, and beyond the scores of the fit, lines; an atom is a bin of its own.

    Args:
        cdf: of the score.
        moved: gives where several models move scores to, (models, ..., scores), at the nodes of
            the continuous attributes, from levels that are so much higher.
        of_all: makes one content of those of the models.
        attributes: by the names of their inputs.
        score: the name of its input.
        tolerance: of the level, and as a share of the range of the scores of the fit.
    """
    names, axes = continuous(attributes), attribute_nodes(cdf, attributes)
    low, high = cdf.range

    def allowed(axes: list[Floats], scores: Floats, share: float) -> tuple[Floats, Floats]:
        """Return the ends of what is near enough."""
        off = share * tolerance * (high - low)
        down, up = (moved(axes, scores, sign * share * tolerance) for sign in (-1, 1))
        return down - off, up + off

    def stretch(scores: Floats) -> Content:
        """Return lines between scores."""
        nodes = [*axes, scores]
        for _ in range(HALVINGS + 1):
            *attributes_at, scores = nodes
            values = moved(attributes_at, scores, 0)
            down, up = allowed(attributes_at, scores, 0.5)
            kept, tables = thinned(nodes, values, np.minimum(up - values, values - down))
            # Look where the nodes were not.
            *middles, middle = [(x[1:] + x[:-1]) / 2 for x in nodes]
            found = np.stack([_at(kept, table, [*middles, middle]) for table in tables])
            down, up = allowed(middles, middle, 1)
            if ((down <= found) & (found <= up)).all():
                line = 1 + len(names)
                return of_all([grid([*names, score], kept, t, line, DIGITS) for t in tables])
            nodes = [_halved(x) for x in nodes]
        raise ValueError(
            f"lines between the nodes of a table do not keep to {tolerance:g}, as {score} jumps on "
            "its way; allow a larger tolerance, or write ONNX or a C++ header (.hpp)"
        )

    def atom(at: float) -> Content:
        """Return the content for all events of one score."""
        one = np.array([at])
        values, (down, up) = moved(axes, one, 0)[..., 0], allowed(axes, one, 0.5)
        if not names:
            return of_all(values.tolist())
        near = np.minimum(up[..., 0] - values, values - down[..., 0])
        kept, tables = thinned(axes, values, near)
        return of_all([grid(names, kept, t, 2 + len(names), DIGITS) for t in tables])

    knots, start, end, margin = apart(*cdf.coordinate.steps)
    is_atom = end > start
    ends = np.flatnonzero(is_atom | np.isin(np.arange(len(knots)), [0, len(knots) - 1]))
    edges: list[float | str] = ["-inf"]
    content = [stretch(np.array([low - (high - low), low]))]
    for i, following in zip(ends, [*ends[1:], None], strict=True):
        first = float(knots[i])
        if is_atom[i]:
            content.append(atom(first))
            edges.append(first - float(margin[i]))
            first += float(margin[i])
        edges.append(first)
        if following is not None:
            last = float(knots[following]) - is_atom[following] * float(margin[following])
            inner = _scores_between(cdf, first, last)
            content.append(stretch(np.array([first, *inner, last])))
    content.append(stretch(np.array([high, high + (high - low)])))
    return binning(score, [*edges, "inf"], content, "clamp")


def _scores_between(cdf: ConditionalCDF, first: float, last: float) -> Floats:
    """Return scores at which the distribution may bend, between two."""
    table = table_of(cdf)
    places = np.empty(0) if table is None else cdf.coordinate.inverse(table.score)
    scores = np.unique(np.concatenate([cdf.coordinate.quantiles, places]))
    # Two that are nearly one make a slope of nothing.
    apart = 1e-9 * (last - first)
    scores = scores[(scores > first + apart) & (scores < last - apart)]
    return scores[np.diff(scores, prepend=-np.inf) > apart]


def _halved(nodes: Floats) -> Floats:
    return np.sort(np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2]))


def _at(axes: list[Floats], table: Floats, places: list[Floats]) -> Floats:
    """Return a table at the nodes of a finer grid."""
    points = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1)
    return np.asarray(RegularGridInterpolator(axes, table)(points))
