"""Boxes that halve until a function is linear in each of them, as nearly as is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unsculpt.export.schema import Content, binning, reference
from unsculpt.inputs import Floats

LOOKS = np.linspace(0, 1, 9)  # at these shares of each side of a box
# Of a side, by the number of axes: at each node of a table there is a look, and one between two.
WIDEST = {1: 2 / 128, 2: 2 / 16}
LEAF = -1
Bounds = Callable[[Floats], tuple[Floats, Floats, Floats]]


@dataclass(frozen=True)
class Boxes:
    """A tree of boxes in [-1, 1] along each axis.

    Attributes:
        low, width: of each box, (n, axes).
        corners: the function there, (n, 2, ..., 2).
        axis: along which a box is halved, or LEAF.
        halves: the first of its two halves; the other one follows.
    """

    low: Floats
    width: Floats
    corners: Floats
    axis: NDArray[np.int64]
    halves: NDArray[np.int64]

    def content(self, names: list[str], line: int, digits: int) -> Content:
        """Return the boxes for correctionlib; `line` is the shared formula of what is in one."""
        terms = _terms(self.low, self.width, self.corners)

        def content_of(box: int) -> Content:
            axis = self.axis[box]
            if axis == LEAF:
                constant, *slopes = terms[box]
                # What has no slope is kept to the last digit: it may be an atom.
                if any(slopes):
                    constant, *slopes = (float(f"{x:.{digits}g}") for x in terms[box])
                return reference(line, [constant, *slopes])
            edges, contents = [self.low[box, axis]], []

            def add(part: int) -> None:
                if self.axis[part] == axis:
                    add(self.halves[part])
                    add(self.halves[part] + 1)
                else:
                    edges.append(self.low[part, axis] + self.width[part, axis])
                    contents.append(content_of(part))

            add(box)
            return binning(names[axis], [float(x) for x in edges], contents, "clamp")

        return content_of(0)


def halved(axes: int, bounds: Bounds, limit: int) -> Boxes | None:
    """Return boxes in which lines between the corners keep to the bounds, or None.

    Args:
        axes: how many there are.
        bounds: gives the function at some points, (n, axes), and the least and the largest that
            will do there; where all three are one, anything does.
        limit: of boxes, at which there is no more halving.
    """
    share = np.stack(np.meshgrid(*axes * [LOOKS], indexing="ij"), axis=-1).reshape(-1, axes)
    bits = np.array(list(product((0, 1), repeat=axes)))
    by_corner = np.where(bits, share[:, None], 1 - share[:, None]).prod(axis=-1)
    is_corner = by_corner.argmax(axis=0)

    low, width = np.full((1, axes), -1.0), np.full((1, axes), 2.0)
    levels, count = [], 0
    while len(low):
        points = (low[:, None] + width[:, None] * share).reshape(-1, axes)
        value, least, largest = (x.reshape(len(low), -1) for x in bounds(points))
        corners = value[:, is_corner]
        line = corners @ by_corner.T
        will_do = (least <= line) & (line <= largest) | (least == largest)
        # Which axis the function bends along.
        shape, room = (-1, *axes * [len(LOOKS)]), (largest - least) / 2
        bends = [_bends(value.reshape(shape), room.reshape(shape), 1 + i) for i in range(axes)]
        wide = width > WIDEST[axes]
        axis = np.where(wide.any(axis=1), wide.argmax(axis=1), np.argmax(bends, axis=0))
        axis[will_do.all(axis=1) & ~wide.any(axis=1)] = LEAF
        split = np.flatnonzero(axis != LEAF)
        count += len(low)
        if count + 2 * len(split) > limit:
            return None
        halves = np.full(len(low), LEAF)
        halves[split] = count + 2 * np.arange(len(split))
        levels.append((low, width, corners.reshape(-1, *axes * [2]), axis, halves))
        narrow = width[split]
        narrow[np.arange(len(split)), axis[split]] /= 2
        offset = np.where(np.arange(axes) == axis[split, None], narrow, 0)
        low = np.stack([low[split], low[split] + offset], axis=1).reshape(-1, axes)
        width = narrow.repeat(2, axis=0)
    return Boxes(*map(np.concatenate, zip(*levels, strict=True)))


def _bends(value: Floats, room: Floats, axis: int) -> Floats:
    """Return how far a function is from lines along an axis, in each box and by the room it has."""
    value, room = np.moveaxis(value, axis, -1), np.moveaxis(room, axis, -1)
    line = value[..., :1] + LOOKS * (value[..., -1:] - value[..., :1])
    off = np.divide(np.abs(line - value), room, out=np.zeros_like(line), where=room > 0)
    return np.asarray(off.reshape(len(off), -1).max(axis=1))


def _terms(low: Floats, width: Floats, corners: Floats) -> Floats:
    """Return the coefficients of `coordinates.cell` of each box."""
    for i, (start, side) in enumerate(zip(low.T, width.T, strict=True)):
        first, last = np.moveaxis(corners, 1 + i, 0)
        wide = (-1, *(first.ndim - 1) * [1])
        slope = (last - first) / side.reshape(wide)
        corners = np.stack([first - slope * start.reshape(wide), slope], axis=1 + i)
    return corners.reshape(len(low), -1)
