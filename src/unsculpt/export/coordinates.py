"""What every file for correctionlib has: coordinates of the inputs, and grids over them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from unsculpt.atomic import atomic_write
from unsculpt.decorrelators import Chain, CrossFit
from unsculpt.decorrelators.common.attributes import Categorical, Continuous
from unsculpt.decorrelators.common.tables import TableCDF, table_of
from unsculpt.export.program import check_exportable, protected_in
from unsculpt.export.schema import Content, binning, category, formula, reference, transform
from unsculpt.export.thinning import thin
from unsculpt.graph import Input
from unsculpt.inputs import Floats

# The formula that all pieces of a coordinate share, with x its variable.
LINE = "[0]+[1]*((x-[2])/[3])"
NODES = {0: 0, 1: 257, 2: 65}  # of an attribute without a table, by the number of attributes
LARGEST = 10_000_000  # bytes of a file
Attributes = dict[str, Continuous | Categorical]


def check_single(model: Any) -> None:
    """Refuse what is not one fitted decorrelator of scores."""
    if isinstance(model, CrossFit):
        raise ValueError(
            "a CrossFit has a model for each fold, and correctionlib's tables are for one; export "
            "each of its models_, or all of them to ONNX or a C++ header (.hpp)"
        )
    if isinstance(model, Chain):
        raise ValueError(
            "a Chain is several maps, one after the other, and correctionlib's tables are for one; "
            "ONNX takes it, and a C++ header (.hpp)"
        )
    check_exportable(model)


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that nothing can keep."""
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance!r}; expected a positive number")


def attributes_of(model: Any) -> Attributes:
    """Return the protected attributes by the names of their inputs."""
    if len(model.protected_inputs_) != len(model.attributes_.attributes):
        raise ValueError(
            f"a {type(model).__name__} makes one variable of {list(model.protected_inputs_)}, "
            "which correctionlib's tables cannot; ONNX takes it, and a C++ header (.hpp)"
        )
    names = [name for name, _ in protected_in(model, model)]
    attributes = dict(zip(names, model.attributes_.attributes, strict=True))
    if len(continuous(attributes)) > 2:
        raise ValueError(
            f"the model protects {names}; correctionlib's tables are for two continuous "
            "attributes at most, ONNX takes any, and so does a C++ header (.hpp)"
        )
    for name, attribute in attributes.items():
        if (
            isinstance(attribute, Categorical)
            and not attribute.is_text
            and any(value != int(value) for value in attribute.values)
        ):
            raise ValueError(
                f"{name} is one of {attribute.values}; categories of correctionlib are text or "
                "whole numbers, ONNX takes any"
            )
    return attributes


def continuous(attributes: Attributes) -> list[str]:
    """Return the names of those that are on a scale."""
    return [name for name, a in attributes.items() if isinstance(a, Continuous)]


def inputs_of(model: Any) -> list[dict[str, str]]:
    """Return the attributes as inputs of a correction."""
    return [described(name, description) for name, description in protected_in(model, model)]


def described(name: str, description: Input) -> dict[str, str]:
    """Return an input with how to prepare it."""
    kind = (
        "real"
        if description.categories is None
        else "string"
        if description.kind == "text"
        else "int"
    )
    return {"name": name, "type": kind, "description": description.words}


def over(
    attributes: Attributes,
    outside: str | None,
    of_choice: Callable[[tuple[int, ...]], Content],
    real: str,
    chosen: tuple[int, ...] = (),
    line: int = 1,
) -> Content:
    """Return a content for each choice of categories; it sees the coordinates of other attributes.

    Args:
        attributes: by the names of their inputs.
        outside: the policy of the model.
        of_choice: gives the content from the numbers of the categories.
        real: an input that is a number.
        chosen: the numbers of the categories so far.
        line: the shared formula of the coordinate of the first attribute that has one.
    """
    if not attributes:
        return of_choice(chosen)
    (name, attribute), *rest = attributes.items()
    if isinstance(attribute, Continuous):
        content = over(dict(rest), outside, of_choice, real, chosen, line + 1)
        rule = attribute_rule(attribute, name, line)
        return _within(attribute, name, outside, transform(name, rule, content))
    return category(
        name,
        {
            value if attribute.is_text else int(value): over(
                dict(rest), outside, of_choice, real, (*chosen, i), line
            )
            for i, value in enumerate(attribute.values)
        },
        formula("sqrt(-1)", real) if outside == "nan" else None,
    )


def _within(attribute: Continuous, name: str, outside: str | None, content: Content) -> Content:
    """Guard the fitted range; "clip" needs no guard, nor does one model of several folds."""
    if outside in ("clip", None):
        return content
    low, high = attribute.cdf.range
    beyond = "error" if outside == "raise" else formula("sqrt(-1)", name)
    return binning(name, [low - _margin(low), high + _margin(high)], [content], beyond)


def attribute_rule(attribute: Continuous, name: str, line: int) -> Content:
    """Return the attribute's coordinate, constant beyond the fitted range."""
    knots, *levels = attribute.cdf.steps
    across, share = attribute.across(knots), attribute.by_range
    start, end = (share * across + (1 - share) * (2 * level - 1) for level in levels)
    below, above = ((start + end) / 2)[[0, -1]].tolist()
    # NaN comes last in the order of correctionlib, and stays NaN.
    last = formula("[0]+0*exp(-abs(x))", name, parameters=[above])
    return piecewise(name, knots, start, end, below, last, line)


def piecewise(
    name: str,
    knots: Floats,
    start: Floats,
    end: Floats,
    below: Content,
    above: Content,
    line: int,
) -> Content:
    """Return straight lines from the end of one knot's jump to the start of the next one's."""
    knots, start, end, margin = apart(knots, start, end)
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


def apart(knots: Floats, start: Floats, end: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Join knots that are one number to correctionlib, whose reader rounds the last digits."""
    margin = _margin(knots)
    first = np.flatnonzero(np.diff(knots, prepend=-np.inf) > 4 * margin)
    last = np.append(first[1:], len(knots)) - 1
    return knots[first], start[first], end[last], margin[first]


def attribute_nodes(cdf: Any, attributes: Attributes) -> list[Floats]:
    """Return the nodes of the continuous attributes: those of the table, if it is one."""
    table, names = table_of(cdf), continuous(attributes)
    if table is None:
        return [np.linspace(-1, 1, NODES[len(names)])] * len(names)
    nodes = [table.attribute] if isinstance(table, TableCDF) else table.nodes
    kinds = [isinstance(attribute, Continuous) for attribute in attributes.values()]
    return [own for own, kind in zip(nodes, kinds, strict=True) if kind]


def features_at(attributes: Attributes, axes: Sequence[Floats], chosen: tuple[int, ...]) -> Floats:
    """Return the coordinates of all nodes of the continuous attributes, for some categories."""
    along = [x.ravel() for x in np.meshgrid(*axes, indexing="ij")]
    points = np.stack(along, axis=1) if along else np.empty((1, 0))
    return features_of(attributes, points, chosen)


def features_of(attributes: Attributes, points: Floats, chosen: tuple[int, ...]) -> Floats:
    """Return the coordinates of points of the continuous attributes, (n, axes), and categories."""
    along, numbers = iter(points.T), iter(chosen)
    blocks = []
    for attribute in attributes.values():
        if isinstance(attribute, Continuous):
            blocks.append(next(along)[:, None])
        else:
            blocks.append(np.tile(np.eye(attribute.width)[next(numbers)], (len(points), 1)))
    return np.hstack(blocks)


def _margin(value: Any) -> Any:
    return np.maximum(16 * np.spacing(np.abs(value)), 1e-300)


def thinned(axes: list[Floats], tables: Floats, tolerance: Any) -> tuple[list[Floats], Floats]:
    """Return as few nodes as a tolerance allows, the same for all tables, (..., *axes).

    Each axis has an equal part of the tolerance: interpolation does not enlarge an error.
    """
    axes, part = list(axes), tolerance / len(axes)
    for i in reversed(range(len(axes))):
        where = i - len(axes)
        kept = thin(axes[i], *(_along(x, where) for x in np.broadcast_arrays(tables, part)))
        tables = np.take(tables, kept, axis=where)
        if np.ndim(part):
            part = np.take(part, kept, axis=where)
        axes[i] = axes[i][kept]
    return axes, tables


def _along(tables: Floats, axis: int) -> Floats:
    return np.moveaxis(tables, axis, 0).reshape(tables.shape[axis], -1)


def cell(axes: int) -> str:
    """Return the formula of a cell, linear along each axis, of coefficients as `grid` has them."""
    return "+".join(
        "*".join([f"[{i}]", *(x for x, bit in zip("xyz", bits, strict=False) if bit)])
        for i, bits in enumerate(product((0, 1), repeat=axes))
    )


def grid(names: list[str], axes: list[Floats], values: Floats, line: int, digits: int) -> Content:
    """Return a table, linear along each axis in its cells; `line` is their shared formula."""
    for axis, nodes in enumerate(axes):
        values = np.moveaxis(values, axis, -1)
        slope = np.diff(values) / np.diff(nodes)
        pieces = np.stack([values[..., :-1] - slope * nodes[:-1], slope])
        values = np.moveaxis(np.moveaxis(pieces, -1, axis + 1), 0, -1)
    cells = values.reshape(-1, 2 ** len(axes))
    return {
        "nodetype": "multibinning",
        "inputs": names,
        "edges": [nodes.tolist() for nodes in axes],
        # As many digits as the order of scores needs.
        "content": [reference(line, [float(f"{c:.{digits}g}") for c in cell]) for cell in cells],
        "flow": "clamp",
    }


def write(path: str | os.PathLike[str], corrections: list[Any]) -> None:
    """Write a file of corrections, compressed if so called, unless it is too large to be of use."""
    content = {"schema_version": 2, "corrections": corrections}
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    compressed = os.fspath(path).lower().endswith(".gz")
    if compressed:
        data = gzip.compress(data, mtime=0)
    if len(data) > LARGEST:
        smaller = "" if compressed else "end its name in .json.gz, "
        raise ValueError(
            f"the file would have {len(data) / 1e6:.0f} MB, more than {LARGEST / 1e6:.0f}; "
            f"{smaller}allow a larger tolerance, or write ONNX or a C++ header (.hpp)"
        )
    with atomic_write(path) as draft:
        draft.write_bytes(data)
