"""A working-point map for correctionlib: the cut on the raw score, which frameworks apply."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.decorrelators.base import ConditionalCDF, ScoreDecorrelator
from unsculpt.export.coordinates import (
    LINE,
    Attributes,
    attributes_of,
    cell,
    check_single,
    check_tolerance,
    continuous,
    features_at,
    grid,
    inputs_of,
    over,
    thinned,
    write,
)
from unsculpt.export.program import scores_in
from unsculpt.export.schema import Content, category, formula
from unsculpt.inputs import check_fraction

EFFICIENCY = "efficiency"
# Of each axis before they are thinned, by the number of axes: with two, a file of a few megabytes.
NODES = {1: 4097, 2: 193}


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
        path: the file to write.
        efficiencies: of the background.
        tolerance: the largest difference between the efficiency of the cut and the one asked for,
            as a share of it, at 4097 values of an attribute or 193 by 193 of two. With
            one it holds between them too; with two not where the cut bends sharply.

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
            f"{version('unsculpt')}; at the nodes the share is met to {tolerance:g} of it",
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
    axes = [np.linspace(-1, 1, NODES[len(names)])] * len(names)
    off = efficiency * tolerance / 2  # the other half is for what is between the nodes
    levels = 1 - efficiency + np.array([0.0, -off, off])

    def inner(chosen: tuple[int, ...]) -> Content:
        features, shape = features_at(attributes, axes, chosen), [len(x) for x in axes]
        cut, low, high = (
            np.clip(cdf.inverse(np.full(len(features), level), features), *cdf.range).reshape(shape)
            for level in np.clip(levels, 0, 1)
        )
        kept, cuts = thinned(axes, cut, np.minimum(high - cut, cut - low))
        return grid(names, kept, cuts, 1 + len(names), digits=12)

    return over(attributes, outside, inner, names[0])
