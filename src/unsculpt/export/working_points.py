"""A working-point map for correctionlib: the cut on the raw score, which frameworks apply."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.decorrelators.base import ConditionalCDF, ScoreDecorrelator
from unsculpt.export.boxes import halved
from unsculpt.export.coordinates import (
    LINE,
    Attributes,
    attributes_of,
    cell,
    check_single,
    check_tolerance,
    continuous,
    features_of,
    inputs_of,
    over,
    write,
)
from unsculpt.export.program import scores_in
from unsculpt.export.schema import Content, category, formula
from unsculpt.inputs import Floats, check_fraction

EFFICIENCY = "efficiency"
MOST = 2**18  # boxes, which no file has room for
PART = 0.7


def to_working_points(
    model: Any,
    path: str | os.PathLike[str],
    efficiencies: Sequence[float],
    *,
    tolerance: float = 1e-2,
) -> None:
    """Write `model.threshold` at some efficiencies as a correctionlib file (schema 2).

    The correction `cut` (`cut_0`, ... of several scores) of an `efficiency`, which is text such as
    "0.01", and the attributes is the cut on the raw score that keeps this share of the background.

    Args:
        model: a fitted decorrelator that learns the whole distribution, with one or two continuous
            attributes and any categories.
        path: the file to write; compressed if its name ends in .gz.
        efficiencies: efficiencies of the background.
        tolerance: the largest difference between the efficiency of the cut and the one asked for,
            as a share of it. It holds at all values of the attributes at which the score has no
            atom at the cut.

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> with TemporaryDirectory() as folder:
    ...     to_working_points(spline, f"{folder}/cuts.json", [0.1])
    """
    check_single(model)
    check_tolerance(tolerance)
    if not isinstance(model, ScoreDecorrelator):
        raise ValueError(
            f"a {type(model).__name__} has no cuts at several efficiencies; expected a method that "
            "learns the whole distribution, such as SplineDecorrelator"
        )
    if not efficiencies:
        raise ValueError("efficiencies is empty; expected numbers such as 0.01")
    for efficiency in efficiencies:
        check_fraction(efficiency, EFFICIENCY)
    attributes = attributes_of(model)
    if not continuous(attributes):
        raise ValueError(
            f"the model protects {list(attributes)}, which are categories: print "
            "model.threshold(efficiency, ...) of each instead"
        )
    names = continuous(attributes)
    scores = [name for name, _ in scores_in(model, model)]
    corrections = [
        {
            "name": "cut" if len(scores) == 1 else f"cut_{i}",
            "description": f"the cut on {score} that keeps a share of the background, by unsculpt "
            f"{version('unsculpt')}; the share is met to {tolerance:g} of it",
            "version": 1,
            "inputs": [
                {
                    "name": EFFICIENCY,
                    "type": "string",
                    "description": f"one of {', '.join(f'{e:g}' for e in efficiencies)}",
                },
                *inputs_of(model),
            ],
            "output": {"name": "cut", "type": "real", "description": f"keep {score} above it"},
            "generic_formulas": [formula(LINE, name) for name in [names[0], *names]]
            + [formula(cell(len(names)), *names)],
            "data": category(
                EFFICIENCY,
                {
                    f"{e:g}": _cuts(cdf, attributes, e, model.outside, tolerance)
                    for e in efficiencies
                },
            ),
        }
        for i, (score, cdf) in enumerate(zip(scores, model.cdfs_, strict=True))
    ]
    write(path, corrections)


def _cuts(
    cdf: ConditionalCDF,
    attributes: Attributes,
    efficiency: float,
    outside: str | None,
    tolerance: float,
) -> Content:
    """Return the cut at one efficiency."""
    names = continuous(attributes)
    axes, (low, high) = len(names), cdf.range
    off = efficiency * tolerance * PART
    levels = np.clip(1 - efficiency + np.array([0.0, -off, off]), 0, 1)
    rounding = 1e-12 * (high - low)

    def of_choice(chosen: tuple[int, ...]) -> Content:
        def bounds(points: Floats) -> tuple[Floats, Floats, Floats]:
            """Return the cut, and the lowest and the highest that keep to the tolerance."""
            features = features_of(attributes, points, chosen)
            cut, least, largest = (
                np.clip(cdf.inverse(np.full(len(points), level), features), low, high)
                for level in levels
            )
            room = rounding * (largest > least)
            return cut, least - room, largest + room

        boxes = halved(axes, bounds, MOST)
        if boxes is None:
            raise ValueError(
                f"the cut at efficiency {efficiency:g} bends too sharply for {MOST:,} boxes; allow "
                "a larger tolerance, or take `threshold` or a C++ header (.hpp)"
            )
        return boxes.content(names, 1 + axes, digits=12)

    return over(attributes, outside, of_choice, names[0])
