"""A verdict: is a selection independent of the protected attributes?"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import (
    Floats,
    as_array,
    event_weights,
    numbers,
    protected_columns,
    same_length,
    whole_number,
)

# Events that pass, and that fail, which a cell expects at least: the pulls are normal then.
ENOUGH = 25
NOT_FLAT = 0.01  # a p-value below which a selection is called so


class TooFewEventsError(ValueError):
    """There are too few events for a test."""


class Flatness(NamedTuple):
    """How independent of the attributes a selection is.

    Attributes:
        chi2: the sum over the cells of the attributes of the squared pull of the events kept.
        degrees: degrees of freedom of chi2.
        p_value: how often an independent selection has such a chi2 or a larger one.
        worst: the cell with the largest pull: for each attribute its smallest and largest value.
        pull: the pull of that cell, in errors; positive if too many events pass there,
            or if the slices are too high on average.
    """

    chi2: float
    degrees: int
    p_value: float
    worst: dict[str, tuple[Any, Any]]
    pull: float

    @property
    def flat(self) -> bool:
        """Whether the p-value is 0.01 or more, so that chance explains what differs."""
        return self.p_value >= NOT_FLAT

    @property
    def chance(self) -> str:
        """The p-value in words."""
        return f"p = {self.p_value:.2g}" if self.p_value > 1e-99 else "p below 1e-99"

    @property
    def where(self) -> str:
        """The worst cell in words."""
        return ", ".join(
            f"{name} {_short(low)}" + (f" to {_short(high)}" if low != high else "")
            for name, (low, high) in self.worst.items()
        )

    @property
    def numbers(self) -> str:
        """The outcome in numbers."""
        return f"χ² {self.chi2:.1f} for {self.degrees}, {self.chance}"

    def verdict(self, events: int) -> str:
        """Return one line that a reader can act on, about a test on so many events.

        Args:
            events: how many events the test had.
        """
        if self.flat:
            return f"flat within the statistics of {events:,} events ({self.numbers})"
        much = "many" if self.pull > 0 else "few"
        return (
            f"not flat: {self.numbers}, worst at {self.where}, where too {much} pass by "
            f"{abs(self.pull):.1f} errors"
        )


def flatness_test(
    selected: ArrayLike,
    protected: Any,
    *,
    cells: int = 50,
    sample_weight: ArrayLike | None = None,
) -> Flatness:
    """Test that a selection is independent of the protected attributes.

    The attributes are divided into cells that hold equal numbers of events: one attribute into
    intervals, two into intervals of the first and in each of these of the second; text, truth
    values and attributes of few values by their values, before the others. Neighbouring cells are
    merged until each expects 25 events that pass and 25 that fail. In each cell the sum of the
    weights that pass is compared with the share that passes everywhere. Its error comes from the
    squared weights of the cell, and from how these go with passing everywhere. Three attributes or
    more are also tested one by one; the smallest p-value counts, as the smallest of so many. On the
    events of a fit a model looks flatter than it is: test on others.

    Args:
        selected: whether each event passes, (n,); or a whole number for each, such as the slice
            of the score that it is in, to test several cuts at once.
        protected: the attributes, (n,), (n, k), or a table with named columns.
        cells: how many to make, if the events allow it.
        sample_weight: event weights, negative ones included.

    Examples:
        >>> import numpy as np
        >>> random = np.random.default_rng(1)
        >>> mass, score = random.exponential(50, 20_000), random.random(20_000)
        >>> flat = flatness_test(score > 0.9, mass)
        >>> flat.degrees, bool(flat.p_value > 0.01)
        (49, True)
        >>> flatness_test(score + mass / 500 > 0.9, mass).p_value < 1e-9
        True
    """
    return FlatnessTest(protected, sample_weight)(selected, cells)


class Deviations(NamedTuple):
    """How the map behind a selection may be off, at some of the events.

    Attributes:
        events: which they are, (m,).
        shifts: by how much one standard deviation of each independent direction moves the chance
            to pass there, (m, k).
    """

    events: NDArray[np.intp]
    shifts: Floats


class FlatnessTest:
    """`flatness_test` of several selections of the same events, which are divided once."""

    def __init__(self, protected: Any, sample_weight: ArrayLike | None = None) -> None:
        self.names, self.original = protected_columns(protected)
        self.weight = event_weights(sample_weight, len(self.original[0]), "protected")
        self.counts = self.weight != 0  # an event of weight zero is none
        self.columns = [
            _orderable(column[self.counts], name)
            for column, name in zip(self.original, self.names, strict=True)
        ]
        self._divided: dict[tuple[int, ...], NDArray[np.intp]] = {}

    def __call__(
        self, selected: ArrayLike, cells: int = 50, deviations: Deviations | None = None
    ) -> Flatness:
        """Test one selection; with deviations, whether statistics and map together explain it."""
        given = as_array(selected, "selected")
        if given.ndim != 1 or given.dtype.kind not in "biu":
            raise ValueError(
                f"selected has shape {given.shape} and holds {given.dtype} values; expected True "
                "or False for each event, or the number of its slice"
            )
        same_length(len(given), "selected", protected=len(self.counts))
        whole_number(cells, "cells", 2)
        names, columns = self.names, self.columns
        kind, slices = np.unique(given[self.counts], return_inverse=True)
        if len(kind) < 2:
            raise TooFewEventsError(
                f"selected is {', '.join(map(str, kind)) or 'empty'} in all {len(slices):,} "
                "events; expected some to pass and some to fail"
            )
        weight = self.weight[self.counts] / np.abs(self.weight).max()
        rarest = np.bincount(slices, weight).min() / weight.sum()
        effective = weight.sum() ** 2 / (weight**2).sum()
        cells = min(cells, int(effective * rarest / ENOUGH))
        if cells < 2:
            raise TooFewEventsError(
                f"of {len(slices):,} events (as many as {effective:,.0f} of equal weight) "
                f"{effective * max(rarest, 0):,.0f} are in the smallest part; expected at least "
                f"{2 * ENOUGH} to divide by attribute: loosen the cut or add events"
            )
        kept = np.eye(len(kind))[slices][:, 1:]  # what is in no later slice is in the first
        # Of many attributes a grid divides each into few parts, so each is looked at by itself too.
        groups = [list(range(len(columns)))] if 2 ** len(columns) <= cells else []
        groups += [[i] for i in range(len(columns))] if len(columns) > 2 or not groups else []
        found = []
        for group in groups:
            cell = _merged(self._cells(group, cells), weight, rarest)
            if cell.max() > 0:
                off = None if deviations is None else self._shifts(cell, deviations)
                found.append((*_chi2(cell, kept, weight, off), cell))
        if not found:
            raise TooFewEventsError(
                f"{', '.join(names)} cannot be divided into two parts of enough events: expected "
                "more than one value"
            )
        chances = [chi2_survival(chi2, degrees) for chi2, degrees, *_ in found]
        least = int(np.argmin(chances))
        chi2, degrees, far, pull, cell = found[least]
        in_cell = np.flatnonzero(self.counts)[cell == far]
        return Flatness(
            chi2,
            degrees,
            # How often the smallest of so many is as small.
            -math.expm1(len(chances) * math.log1p(-min(chances[least], 1 - 1e-15))),
            {n: _ends(c[in_cell]) for n, c in zip(names, self.original, strict=True)},
            pull,
        )

    def _shifts(self, cell: NDArray[np.intp], deviations: Deviations) -> Floats:
        """Return the mean deviations of the events in each cell, (cells, directions)."""
        known = self.counts[deviations.events]
        where = cell[(np.cumsum(self.counts) - 1)[deviations.events[known]]]
        share = np.eye(int(cell.max()) + 1)[where]
        weight = share / np.maximum(share.sum(axis=0), 1)
        return np.asarray(weight.T @ deviations.shifts[known])

    def _cells(self, group: list[int], cells: int) -> NDArray[np.intp]:
        """Return the cells of some attributes; to sort the events takes most of the time."""
        key = (cells, *group)
        if key not in self._divided:
            self._divided[key] = _cells([self.columns[i] for i in group], cells)
        return self._divided[key]


def _chi2(
    cell: NDArray[np.intp], kept: Floats, weight: Floats, shifts: Floats | None = None
) -> tuple[float, int, int, float]:
    """Return chi2, its degrees of freedom, the cell that is farthest off, and its pull."""
    number = int(cell.max()) + 1

    def summed(values: Floats) -> Floats:
        return np.bincount(cell, values, number).astype(np.float64)

    weights, squares = summed(weight), summed(weight**2)
    sums = np.column_stack([summed(weight * k) for k in kept.T])
    # The share that fits best: with weights not that of all events, which some cells know poorly.
    knows = weights / squares
    share = (knows @ sums) / (knows @ weights)
    apart = (kept - share) * weight[:, None]
    covariance = apart.T @ apart / (weight**2).sum()
    if shifts is not None:
        return _chi2_with_map(weights, sums[:, 0], squares * covariance[0, 0], shifts)
    off = sums - np.outer(weights, share)
    each = np.einsum("cj,jk,ck->c", off, np.linalg.pinv(covariance), off) / squares
    far = int(each.argmax())
    pull = np.copysign(each[far] ** 0.5, off[far] @ np.arange(1, kept.shape[1] + 1))
    return float(each.sum()), (number - 1) * kept.shape[1], far, float(pull)


def _chi2_with_map(
    weights: Floats, sums: Floats, variance: Floats, shifts: Floats
) -> tuple[float, int, int, float]:
    """Return the same where neighbouring cells are off together, as the map moves them."""
    moves = weights[:, None] * shifts
    covariance = np.diag(variance) + moves @ moves.T
    knows = np.linalg.solve(covariance, weights)
    off = sums - weights * (knows @ sums) / (knows @ weights)
    pulls = off / np.sqrt(np.diag(covariance))
    far = int(np.abs(pulls).argmax())
    chi2 = off @ np.linalg.solve(covariance, off)
    return float(chi2), len(weights) - 1, far, float(pulls[far])


def chi2_survival(chi2: float, degrees: int) -> float:
    """Return how often chi2 with so many degrees of freedom is at least this large.

    The sum that integration by parts gives for whole degrees of freedom.
    """
    half = chi2 / 2
    if half <= 0:
        return 1.0
    odd = degrees % 2
    steps = np.arange(1, (degrees - odd) // 2 + 1) - (0.5 if odd else 1.0)
    logs = steps * math.log(half) - half - np.array([math.lgamma(s + 1) for s in steps])
    return min(float(np.exp(logs).sum()) + (math.erfc(half**0.5) if odd else 0.0), 1.0)


def _orderable(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column as numbers whose order is that of its values."""
    if column.dtype.kind == "O":
        try:
            column = column.astype(float)
        except (TypeError, ValueError):
            column = column.astype(str)
    if column.dtype.kind in "biuf":
        return numbers(column, name)
    return np.unique(column, return_inverse=True)[1]


def _cells(columns: Sequence[NDArray[Any]], cells: int) -> NDArray[np.intp]:
    """Return the cell of each event: the first attribute is divided, then each part by the next.

    An attribute of few values is divided by these, another into parts of equal numbers of events.
    Those of few values come first, and leave more parts to the others.
    """
    cell = np.zeros(len(columns[0]), dtype=np.intp)
    divided = [(column, *np.unique(column, return_inverse=True)) for column in columns]
    divided.sort(key=lambda one: len(one[1]) ** len(columns) > cells)
    for left, (column, values, place) in zip(range(len(columns), 0, -1), divided, strict=True):
        made = int(cell.max()) + 1
        parts = max(int((cells / made) ** (1 / left) + 1e-9), 1)
        if len(values) > parts:
            order = np.lexsort([column, cell])
            first = np.searchsorted(cell[order], np.arange(made))
            size = np.diff(np.append(first, len(cell)))
            rank = np.arange(len(cell)) - np.repeat(first, size)
            part = rank * parts // np.repeat(size, size)
            # Events of one value stay together: in the part where the first of them is.
            new = np.append(True, (np.diff(column[order]) != 0) | (np.diff(cell[order]) != 0))
            place[order] = part[new][np.cumsum(new) - 1]
        cell = np.unique(cell * len(values) + place, return_inverse=True)[1]
    return cell


def _merged(cell: NDArray[np.intp], weight: Floats, rarest: float) -> NDArray[np.intp]:
    """Return the cells, neighbours merged until each expects enough events of the rarest kind."""
    sums, squares = np.bincount(cell, weight), np.bincount(cell, weight**2)
    new = np.zeros(len(sums), dtype=np.intp)
    number, total, square = 0, 0.0, 0.0
    for i, (one, its_square) in enumerate(zip(sums, squares, strict=True)):
        new[i] = number
        total, square = total + one, square + its_square
        if total > 0 and total**2 / square * rarest >= ENOUGH:
            number, total, square = number + 1, 0.0, 0.0
    new = np.minimum(new, max(number - 1, 0))  # what is left joins the last one
    return new[cell]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _ends(values: NDArray[Any]) -> tuple[Any, Any]:
    values = np.unique(values.astype(str) if values.dtype.kind in "OMm" else values)
    return values[0].item(), values[-1].item()
