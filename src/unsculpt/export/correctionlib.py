"""correctionlib: a JSON file that analysis frameworks read."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

import numpy as np

from unsculpt.atomic import atomic_write
from unsculpt.decorrelators import CrossFit
from unsculpt.decorrelators.base import varied
from unsculpt.decorrelators.common.attributes import Continuous
from unsculpt.decorrelators.common.tables import TableCDF
from unsculpt.export.program import (
    check_exportable,
    flat_names,
    protected_in,
    scores_in,
)
from unsculpt.export.schema import Content, binning, category, formula, reference, transform
from unsculpt.export.thinning import thin
from unsculpt.inputs import Floats

# The formulas that all cells share, with x the first and y the second of their variables.
LINE = "[0]+[1]*((x-[2])/[3])"
CELL = "[0]+[1]*x+[2]*y+[3]*x*y"
BELOW = "[0]/(1+([1]-x)/[2])"
ABOVE = "1-[0]/(1+(x-[1])/[2])"
VARIATION = "variation"


def to_correctionlib(
    model: Any, path: str | os.PathLike[str], *, tolerance: float = 1e-3, variations: int = 0
) -> None:
    """Write `model.transform` as a correctionlib file (schema 2) for one continuous attribute.

    Each score is a correction, `flat` (`flat_0`, ...), of the score and the attribute. Both are
    brought to the model's own coordinates exactly; over these the conditional CDF is a grid,
    thinned as far as the tolerance allows, which keeps the order of scores. Numbers that differ in
    the last digit only are one, as the reader of correctionlib rounds it.

    Args:
        model: a fitted decorrelator of scores with one continuous protected attribute.
        path: the file to write.
        tolerance: the largest difference to `transform` at any score and attribute.
        variations: pairs of the model's variations to write too; the correction then has a third
            input, `variation`, which is "nominal", "up_1", "down_1", ...
    """
    if isinstance(model, CrossFit):
        raise ValueError(
            "a CrossFit has a model for each fold, and correctionlib's tables are for one; export "
            "each of its models_, or all of them to ONNX"
        )
    check_exportable(model)
    if not model.attributes_.one_axis:
        raise ValueError(
            f"the model protects {model.attributes_.names}; correctionlib's tables are for one "
            "continuous attribute, ONNX takes any"
        )
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance!r}; expected a positive number")
    if len(model.protected_inputs_) != 1:
        _table(None)
    (attribute,), ((protected, _),) = model.attributes_.attributes, protected_in(model, model)
    models = varied(model, variations) if variations else {"nominal": model}
    which = [{"name": VARIATION, "type": "string"}] if variations else []
    corrections = [
        {
            "name": flat,
            "description": f"{score} decorrelated from {protected} by unsculpt "
            f"{version('unsculpt')}, to {tolerance:g} or better",
            "version": 1,
            "inputs": [{"name": name, "type": "real"} for name in (score, protected)] + which,
            "output": {"name": flat, "type": "real"},
            "generic_formulas": [
                formula(LINE, score),
                formula(LINE, protected),
                formula(CELL, score, protected),
            ],
            "data": _within(
                attribute,
                protected,
                model.outside,
                transform(
                    protected,
                    _attribute_rule(attribute, protected),
                    _score_content(tables, score, protected, tolerance),
                ),
            ),
        }
        for tables, (score, _), flat in zip(
            _tables(models), scores_in(model, model), flat_names(model), strict=True
        )
    ]
    content = {"schema_version": 2, "corrections": corrections}
    with atomic_write(path) as draft:
        draft.write_text(json.dumps(content, separators=(",", ":"), allow_nan=False))


def _tables(models: dict[str, Any]) -> list[dict[str, TableCDF]]:
    """Return the tables of each score, by the names of the models."""
    return [
        {name: _table(getattr(m, "cdfs_", [None] * m.n_scores_)[i]) for name, m in models.items()}
        for i in range(models["nominal"].n_scores_)
    ]


def _table(cdf: Any) -> TableCDF:
    table: TableCDF | None = getattr(cdf, "table", None)
    if table is None:
        raise ValueError(
            "correctionlib needs a conditional CDF in a table, which this method does not make; "
            "ONNX takes it"
        )
    return table


def _within(attribute: Continuous, name: str, outside: str | None, content: Content) -> Content:
    """Guard the fitted range; "clip" needs no guard, nor does one model of several folds."""
    if outside in ("clip", None):
        return content
    low, high = attribute.cdf.range
    beyond = "error" if outside == "raise" else formula("sqrt(-1)", name)
    return binning(name, [low - _margin(low), high + _margin(high)], [content], beyond)


def _score_content(
    tables: dict[str, TableCDF], score: str, protected: str, tolerance: float
) -> Content:
    knots, start, end = tables["nominal"].coordinate.steps
    scale = float(knots[-1] - knots[0])
    below = formula(BELOW, score, parameters=[start[0], knots[0], scale])
    above = formula(ABOVE, score, parameters=[1 - end[-1], knots[-1], scale])
    rule = _piecewise(score, knots, start, end, below, above, line=0)
    grids = _grids(tables, score, protected, tolerance)
    content = category(VARIATION, grids) if len(grids) > 1 else grids["nominal"]
    return transform(score, rule, content)


def _attribute_rule(attribute: Continuous, name: str) -> Content:
    """The attribute's coordinate, constant beyond the fitted range."""
    knots, *levels = attribute.cdf.steps
    across, share = attribute.across(knots), attribute.by_range
    start, end = (share * across + (1 - share) * (2 * level - 1) for level in levels)
    below, above = ((start + end) / 2)[[0, -1]].tolist()
    return _piecewise(name, knots, start, end, below, above, line=1)


def _piecewise(
    name: str,
    knots: Floats,
    start: Floats,
    end: Floats,
    below: Content,
    above: Content,
    line: int,
) -> Content:
    """Straight lines from the end of one knot's jump to the start of the next one's."""
    knots, start, end, margin = _apart(knots, start, end)
    edges: list[float | str] = ["-inf"]
    content: list[Content] = [below]
    for i, knot in enumerate(knots):
        if end[i] > start[i]:  # an atom is a bin of its own, at the middle of its jump
            edges += [float(knot - margin[i]), float(knot + margin[i])]
            content.append(float(start[i] + end[i]) / 2)
        else:
            edges.append(float(knot))
        if i < len(knots) - 1:
            run = [end[i], start[i + 1] - end[i], knot, knots[i + 1] - knot]
            content.append(reference(line, run))
    return binning(name, [*edges, "inf"], [*content, above], "clamp")


def _apart(knots: Floats, start: Floats, end: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Join knots that are one number to correctionlib, whose reader rounds the last digits."""
    margin = _margin(knots)
    first = np.flatnonzero(np.diff(knots, prepend=-np.inf) > 4 * margin)
    last = np.append(first[1:], len(knots)) - 1
    return knots[first], start[first], end[last], margin[first]


def _margin(value: Any) -> Any:
    return np.maximum(16 * np.spacing(np.abs(value)), 1e-300)


def _grids(
    tables: dict[str, TableCDF], score: str, protected: str, tolerance: float
) -> dict[str, Content]:
    """The conditional CDFs, bilinear in cells as large as the tolerance allows.

    The cells are the same for all: a difference between two is then better than the tolerance.
    """
    cdf = tables["nominal"]
    values = [table.values for table in tables.values()]
    # Half of the tolerance for each axis: interpolation does not enlarge an error.
    places = thin(cdf.score, np.vstack(values).T, tolerance / 2)
    rows = thin(cdf.attribute, np.hstack([table[:, places] for table in values]), tolerance / 2)
    x, y = cdf.score[places], cdf.attribute[rows]
    return {
        name: _grid(x, y, table.values[np.ix_(rows, places)].T, score, protected)
        for name, table in tables.items()
    }


def _grid(x: Floats, y: Floats, f: Floats, score: str, protected: str) -> Content:
    """A table, bilinear in its cells."""
    dx, dy = np.diff(x)[:, None], np.diff(y)[None]
    twist = (f[1:, 1:] - f[1:, :-1] - f[:-1, 1:] + f[:-1, :-1]) / (dx * dy)
    x0, y0, f0 = x[:-1, None], y[None, :-1], f[:-1, :-1]
    slope_x = (f[1:, :-1] - f0) / dx - twist * y0
    slope_y = (f[:-1, 1:] - f0) / dy - twist * x0
    constant = f0 - slope_x * x0 - slope_y * y0 - twist * x0 * y0
    cells = np.stack([constant, slope_x, slope_y, twist], axis=-1).reshape(-1, 4)
    return {
        "nodetype": "multibinning",
        "inputs": [score, protected],
        "edges": [x.tolist(), y.tolist()],
        # Nine digits: a hundredth of what the order of scores may be off by.
        "content": [reference(2, [float(f"{c:.9g}") for c in cell]) for cell in cells],
        "flow": "clamp",
    }
