"""correctionlib: a JSON file that analysis frameworks read."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.decorrelators.base import varied
from unsculpt.decorrelators.common.attributes import Categorical
from unsculpt.decorrelators.common.tables import TableCDF, TensorCDF, table_of
from unsculpt.decorrelators.move import Moved
from unsculpt.export.coordinates import (
    LINE,
    Attributes,
    attribute_nodes,
    attributes_of,
    cell,
    check_single,
    check_tolerance,
    continuous,
    described,
    features_at,
    grid,
    inputs_of,
    over,
    piecewise,
    thinned,
    write,
)
from unsculpt.export.moved import moved_content
from unsculpt.export.program import flat_names, scores_in
from unsculpt.export.schema import Content, category, formula, transform
from unsculpt.inputs import Floats

# Beyond the scores of the fit, with x the score.
BELOW = "[0]/(1+([1]-x)/[2])"
ABOVE = "1-[0]/(1+(x-[1])/[2])"
VARIATION = "variation"


def to_correctionlib(
    model: Any,
    path: str | os.PathLike[str],
    *,
    tolerance: float | None = None,
    variations: int = 0,
) -> None:
    """Write `model.transform` as a correctionlib file (schema 2).

    Each score is a correction, `flat` (`flat_0`, ...), of the score and the attributes. The
    continuous ones are brought to the model's own coordinates exactly; over these the conditional
    CDF is a grid, thinned as far as the tolerance allows, which keeps the order of scores. Numbers
    that differ in the last digit only are one, as the reader of correctionlib rounds it.
    Categories are strings or integers.

    A `Moved` is a grid over the attributes and the score itself. Its tolerance is of the level: a
    moved score lies between those of levels that differ by so much, or within this share of the
    range of all scores of these.

    Args:
        model: a fitted decorrelator of scores whose conditional CDF is a table: of one continuous
            attribute, or a `SplineDecorrelator`; or a `Moved` of one or two continuous attributes.
        path: the file to write; compressed if its name ends in .gz.
        tolerance: the largest difference to `transform` at any score and attribute; if not given,
            0.001 with one continuous attribute, 0.01 with two and of a `Moved`.
        variations: pairs of the model's variations to write too; the correction then has a last
            input, `variation`, which is "nominal", "up_1", "down_1", ...

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> with TemporaryDirectory() as folder:
    ...     to_correctionlib(spline, f"{folder}/flat.json", tolerance=0.01)
    """
    check_single(model)
    moves = isinstance(model, Moved)
    attributes = attributes_of(model)
    names = continuous(attributes)
    if tolerance is None:  # a finer grid over two attributes would have fifty megabytes
        tolerance = 1e-2 if moves or len(names) > 1 else 1e-3
    check_tolerance(tolerance)
    models = varied(model, variations) if variations else {"nominal": model}
    which = [{"name": VARIATION, "type": "string"}] if variations else []
    what = f"moved to {model.to!r} in" if moves else "decorrelated from"
    content = _moved if moves else _flat
    corrections = [
        {
            "name": flat,
            "description": f"{score} {what} {', '.join(attributes)} by unsculpt "
            f"{version('unsculpt')}, to {tolerance:g} or better",
            "version": 1,
            "inputs": [described(score, description), *inputs_of(model), *which],
            "output": {"name": flat, "type": "real"},
            "generic_formulas": [
                formula(LINE, score),
                *(formula(LINE, name) for name in names),
                formula(cell(1 + len(names)), *names, score),
                *([formula(cell(len(names)), *names)] if names else []),
            ],
            "data": content(models, i, attributes, score, tolerance),
        }
        for i, ((score, description), flat) in enumerate(
            zip(scores_in(model, model), flat_names(model), strict=True)
        )
    ]
    write(path, corrections)


def _table(cdf: Any) -> TableCDF | TensorCDF:
    table = table_of(cdf)
    if table is None:
        raise ValueError(
            "correctionlib needs a conditional CDF in a table, which this method does not make of "
            "these attributes; ONNX takes it, and a C++ header (.hpp)"
        )
    return table


def _moved(
    models: dict[str, Any], which: int, attributes: Attributes, score: str, tolerance: float
) -> Content:
    """Return the coordinates of the attributes, and the grids over these and the score."""
    model = models["nominal"]
    if model.seed is not None:
        raise ValueError("correctionlib draws no random numbers; export it with seed=None")
    place, nowhere = model._reference()
    if nowhere:
        return formula("sqrt(-1)", score)

    def of_choice(chosen: tuple[int, ...]) -> Content:
        def moved(axes: list[Floats], scores: Floats, higher: float) -> Floats:
            """Return where all models move these scores to, (models, ..., scores)."""
            features = np.repeat(features_at(attributes, axes, chosen), len(scores), axis=0)
            column = np.tile(scores, len(features) // len(scores))
            answers = [
                m._moved(which, column, features, place, higher=higher) for m in models.values()
            ]
            return np.stack(answers).reshape(-1, *map(len, axes), len(scores))

        def of_all(contents: list[Content]) -> Content:
            cases = dict(zip(models, contents, strict=True))
            return category(VARIATION, cases) if len(cases) > 1 else contents[0]

        cdf = model.decorrelator.cdfs_[which]
        return moved_content(cdf, moved, of_all, attributes, score, tolerance)

    return over(attributes, model.outside, of_choice, score)


def _flat(
    models: dict[str, Any], which: int, attributes: Attributes, score: str, tolerance: float
) -> Content:
    """Return the coordinates of the attributes, of the score, and the grids over these."""
    tables = {
        name: _table(getattr(m, "cdfs_", [None] * m.n_scores_)[which]) for name, m in models.items()
    }
    cdf = tables["nominal"]
    knots, start, end = cdf.coordinate.steps
    scale = float(knots[-1] - knots[0])
    below = formula(BELOW, score, parameters=[start[0], knots[0], scale])
    above = formula(ABOVE, score, parameters=[1 - end[-1], knots[-1], scale])
    rule = piecewise(score, knots, start, end, below, above, line=0)
    names, nodes = [*continuous(attributes), score], attribute_nodes(cdf, attributes)

    # The cells are the same for all: a difference between two is then better than the tolerance.
    kinds = [isinstance(a, Categorical) for a in attributes.values()]
    values = np.stack([table.values for table in tables.values()])
    front = [1 + i for i, is_category in enumerate(kinds) if is_category]
    values = np.moveaxis(values, front, range(1, 1 + len(front)))
    axes, values = thinned([*nodes, cdf.score], values, tolerance)

    def of_choice(chosen: tuple[int, ...]) -> Content:
        grids = {
            name: grid(names, axes, table[chosen], len(names), digits=9 if len(names) < 3 else 12)
            for name, table in zip(tables, values, strict=True)
        }
        content = category(VARIATION, grids) if len(grids) > 1 else grids["nominal"]
        return transform(score, rule, content)

    return over(attributes, models["nominal"].outside, of_choice, score)
