"""correctionlib: a JSON file that analysis frameworks read."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.decorrelators.base import varied
from unsculpt.decorrelators.common.attributes import Categorical, Continuous
from unsculpt.decorrelators.common.tables import TableCDF, TensorCDF
from unsculpt.export.coordinates import (
    LINE,
    attributes_of,
    cell,
    check_single,
    check_tolerance,
    continuous,
    described,
    grid,
    inputs_of,
    over,
    piecewise,
    thinned,
    write,
)
from unsculpt.export.program import flat_names, scores_in
from unsculpt.export.schema import Content, category, formula, transform

# Beyond the scores of the fit, with x the score.
BELOW = "[0]/(1+([1]-x)/[2])"
ABOVE = "1-[0]/(1+(x-[1])/[2])"
VARIATION = "variation"


def to_correctionlib(
    model: Any, path: str | os.PathLike[str], *, tolerance: float = 1e-3, variations: int = 0
) -> None:
    """Write `model.transform` as a correctionlib file (schema 2).

    Each score is a correction, `flat` (`flat_0`, ...), of the score and the attributes. The
    continuous ones are brought to the model's own coordinates exactly; over these the conditional
    CDF is a grid, thinned as far as the tolerance allows, which keeps the order of scores. Numbers
    that differ in the last digit only are one, as the reader of correctionlib rounds it.
    Categories are strings or integers.

    Args:
        model: a fitted decorrelator of scores whose conditional CDF is a table: of one continuous
            attribute, or a `SplineDecorrelator`.
        path: the file to write.
        tolerance: the largest difference to `transform` at any score and attribute.
        variations: pairs of the model's variations to write too; the correction then has a last
            input, `variation`, which is "nominal", "up_1", "down_1", ...
    """
    check_single(model)
    check_tolerance(tolerance)
    models = varied(model, variations) if variations else {"nominal": model}
    which = [{"name": VARIATION, "type": "string"}] if variations else []
    attributes = attributes_of(model)
    corrections = [
        {
            "name": flat,
            "description": f"{score} decorrelated from {', '.join(attributes)} by unsculpt "
            f"{version('unsculpt')}, to {tolerance:g} or better",
            "version": 1,
            "inputs": [described(score, about), *inputs_of(model), *which],
            "output": {"name": flat, "type": "real"},
            "generic_formulas": [
                formula(LINE, score),
                *(formula(LINE, name) for name in continuous(attributes)),
                formula(cell(1 + len(continuous(attributes))), *continuous(attributes), score),
            ],
            "data": _flat(tables, attributes, score, model.outside, tolerance),
        }
        for tables, (score, about), flat in zip(
            _tables(models), scores_in(model, model), flat_names(model), strict=True
        )
    ]
    write(path, corrections)


def _tables(models: dict[str, Any]) -> list[dict[str, TableCDF | TensorCDF]]:
    """Return the tables of each score, by the names of the models."""
    return [
        {name: _table(getattr(m, "cdfs_", [None] * m.n_scores_)[i]) for name, m in models.items()}
        for i in range(models["nominal"].n_scores_)
    ]


def _table(cdf: Any) -> TableCDF | TensorCDF:
    table = cdf if isinstance(cdf, TensorCDF) else getattr(cdf, "table", None)
    if table is None:
        raise ValueError(
            "correctionlib needs a conditional CDF in a table, which this method does not make of "
            "these attributes; ONNX takes it, and a C++ header (.hpp)"
        )
    return table


def _flat(
    tables: dict[str, Any],
    attributes: dict[str, Continuous | Categorical],
    score: str,
    outside: str | None,
    tolerance: float,
) -> Content:
    """The coordinates of the attributes, of the score, and the grids over these."""
    cdf = tables["nominal"]
    knots, start, end = cdf.coordinate.steps
    scale = float(knots[-1] - knots[0])
    below = formula(BELOW, score, parameters=[start[0], knots[0], scale])
    above = formula(ABOVE, score, parameters=[1 - end[-1], knots[-1], scale])
    rule = piecewise(score, knots, start, end, below, above, line=0)
    names = [*continuous(attributes), score]
    all_nodes = [cdf.attribute] if isinstance(cdf, TableCDF) else cdf.nodes
    nodes = [
        own
        for own, attribute in zip(all_nodes, attributes.values(), strict=True)
        if isinstance(attribute, Continuous)
    ]

    # The cells are the same for all: a difference between two is then better than the tolerance.
    kinds = [isinstance(a, Categorical) for a in attributes.values()]
    values = np.stack([table.values for table in tables.values()])
    front = [1 + i for i, is_category in enumerate(kinds) if is_category]
    values = np.moveaxis(values, front, range(1, 1 + len(front)))
    axes, values = thinned([*nodes, cdf.score], values, tolerance)

    def inner(chosen: tuple[int, ...]) -> Content:
        grids = {
            name: grid(names, axes, table[chosen], len(names), digits=9 if len(names) < 3 else 12)
            for name, table in zip(tables, values, strict=True)
        }
        content = category(VARIATION, grids) if len(grids) > 1 else grids["nominal"]
        return transform(score, rule, content)

    return over(attributes, outside, inner, score)
