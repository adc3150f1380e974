"""The empirical CDF as a smooth, invertible coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats, T
from unsculpt.saving import Arrays

# A value that holds at least this share of the sample is an atom, whatever the knots resolve.
ATOM = 1e-3
# An event stands for so many at most, on average, and its weight is so many times a common part.
MOST_COPIES, MOST_PARTS = 10, 4
# Of a search: buckets, the most halvings in one, and the share of nodes that may need more.
BUCKETS, HALVINGS, CROWDED = 2**14, 4, 0.02
FEW = 2**9  # values that NumPy finds as fast as `count_below`
MOST_EVENTS = 2**22  # beyond, a few more or less change nothing of what can be resolved


@dataclass(frozen=True)
class EmpiricalCDF:
    """A strictly increasing map of the real line onto (0, 1), uniform on the sample it came from.

    Straight lines between quantiles whose levels crowd towards 0 and 1, so that both the bulk and
    a tail of a few events are resolved. Beyond the sample the map goes on rising, ever slower:
    the order of scores nobody has seen yet is kept too. A value that fills several levels is an
    atom: there the CDF jumps, and the value maps to the middle of the jump.

    Attributes:
        quantiles: values in the units of the sample, not decreasing.
        levels: the fraction of the sample below each.
    """

    quantiles: Floats
    levels: Floats

    @classmethod
    def measure(
        cls, values: Floats, weight: Floats, knots: int = 1024, sample_size: int | None = None
    ) -> EmpiricalCDF:
        """Measure the map on a sample; two knots make it the straight line from end to end.

        Of more than `sample_size` events, that many are looked at, evenly spaced, and both
        its ends: sorting all of a large one costs more than it tells.

        Signed weights do not make a monotone CDF, so their size is taken: this is a choice of
        coordinate, the weighted likelihood is what gets fitted.
        """
        values, weight = with_copies(values, weight)
        if sample_size and len(values) > sample_size:
            rows = np.arange(0, len(values), -(-len(values) // sample_size))
            rows = np.union1d(rows, [values.argmin(), values.argmax()])
            values, weight = values[rows], weight[rows]
        order = np.argsort(values, kind="stable")
        cumulative = np.cumsum(np.abs(weight)[order])
        middle = (cumulative - np.abs(weight)[order] / 2) / cumulative[-1]
        # The outermost levels hold one event; in the bulk twenty or more lie between two knots. The
        # straight line has its ends at 0 and 1: any gap there would cost it likelihood.
        reach = np.log(len(values)) if knots > 2 else np.log(1e9)
        levels = expit(np.linspace(-reach, reach, min(knots, max(16, len(values) // 20))))
        quantiles = np.interp(levels, middle, values[order])
        quantiles[[0, -1]] = values[order[[0, -1]]]
        if knots > 2:
            quantiles, levels = _with_atoms(quantiles, levels, values[order], cumulative)
        return cls(quantiles, levels)

    def state(self, name: str) -> Arrays:
        """Return what was measured, as arrays under a name."""
        return {f"{name}.quantiles": self.quantiles, f"{name}.levels": self.levels}

    @classmethod
    def restore(cls, arrays: Arrays, name: str) -> EmpiricalCDF:
        """Take back what `state` gave."""
        return cls(arrays[f"{name}.quantiles"], arrays[f"{name}.levels"])

    @cached_property
    def steps(self) -> tuple[Floats, Floats, Floats]:
        """The distinct quantiles with the levels at which each starts and ends."""
        values, first, counts = np.unique(self.quantiles, return_index=True, return_counts=True)
        return values, self.levels[first], self.levels[first + counts - 1]

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self.steps[0])

    @property
    def range(self) -> tuple[float, float]:
        """Where the sample ends."""
        return float(self.quantiles[0]), float(self.quantiles[-1])

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Of the line after each knot: where it begins, its run, its first level and its rise."""
        knots, start, end = self.steps
        return knots, np.diff(knots), end, start[1:] - end[:-1]

    @cached_property
    def _jumps(self) -> bool:
        """Whether there are atoms."""
        _, start, end = self.steps
        return bool((end > start).any())

    def _place(self, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the levels below and up to each value, and rise and run of the slope there.

        Where there are no atoms the two levels are one array.
        """
        knots, start, end = self.steps
        left = self._locator.before(values)
        # Rise and run stay apart: between scores that nearly underflow the slope overflows.
        before, run, begin, rise = (of.take(left) for of in self._pieces)
        level = values - before
        with np.errstate(over="ignore", invalid="ignore"):
            level /= run
            level *= rise
        level += begin
        # Beyond the sample: level and slope of 1/(1 + x), one event's worth at its edge.
        scale = knots[-1] - knots[0]
        low, high = (values.min(), values.max()) if len(values) else knots[[0, -1]]
        for outside, edge, share in (
            (np.flatnonzero(values < knots[0]) if low < knots[0] else (), knots[0], start[0]),
            (
                np.flatnonzero(values > knots[-1]) if high > knots[-1] else (),
                knots[-1],
                1 - end[-1],
            ),
        ):
            if not len(outside):
                continue
            with np.errstate(over="ignore", divide="ignore"):
                away = 1 + np.abs(values[outside] - edge) / scale
                level[outside] = share / away if edge == knots[0] else 1 - share / away
                rise[outside], run[outside] = share / away, away * scale
        if not self._jumps:
            return level, level, rise, run
        low, high = level, level.copy()
        for knot, place in ((left, before), (left + 1, knots[1:].take(left))):
            atom = np.flatnonzero(values == place)
            low[atom], high[atom] = start[knot[atom]], end[knot[atom]]
        return low, high, rise, run

    def __call__(self, values: Floats) -> Floats:
        """Return the level of each value."""
        low, high, *_ = self._place(values)
        return low if high is low else (low + high) / 2

    def without_atoms(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Return levels with atoms scattered over their jumps: a likelihood stays finite."""
        low, high, *_ = self._place(values)
        return low + (high - low) * rng.uniform(size=len(values))

    def inverse(self, levels: Floats) -> Floats:
        """Return the value at each level."""
        value: Floats = np.asarray(np.interp(levels, self.levels, self.quantiles))
        low, high = self.range
        for outside, edge, side in (
            (levels < self.levels[0], self.levels[0], -1),
            (levels > self.levels[-1], 1 - self.levels[-1], 1),
        ):
            if outside.any():
                left = levels[outside] if side < 0 else 1 - levels[outside]
                value[outside] += side * (high - low) * (edge / np.clip(left, 1e-16, edge) - 1)
        return value

    def log_slope(self, values: Floats) -> Floats:
        """Return the log of the sample's density at each value; at an atom, of its probability."""
        low, high, rise, run = self._place(values)
        atom = high > low
        # Between the atoms of a discrete score there is nothing: a tiny density, not a warning.
        share = np.maximum(np.where(atom, high - low, rise), np.finfo(float).tiny)
        return np.asarray(np.log(share) - np.log(np.where(atom, 1, run)))

    def graph(self, graph: Graph, value: Value) -> Value:
        """Return the level of each value as steps of a graph."""
        knots, start, end = self.steps
        left = graph.count_below(knots[1:-1], value)
        here = (value - graph.take(knots[:-1], left)) / graph.take(np.diff(knots), left)
        inside = graph.take(end[:-1], left) + graph.take(start[1:] - end[:-1], left) * here
        # An atom is at the middle of its jump.
        for knot, middle in (
            (knots[0], (start[0] + end[0]) / 2),
            (graph.take(knots[1:], left), graph.take((start + end)[1:] / 2, left)),
        ):
            inside = graph.where(value.equals(knot), middle, inside)
        scale = knots[-1] - knots[0]
        below = start[0] / (1 + (knots[0] - value) / scale)
        above = 1 - (1 - end[-1]) / (1 + (value - knots[-1]) / scale)
        inside = graph.where(value < knots[0], below, inside)
        return graph.where(value > knots[-1], above, inside)

    def inverse_graph(self, graph: Graph, level: Value) -> Value:
        """Return the value at each level as steps of a graph, within the sample."""
        # A first or a last stretch of no length would divide by zero.
        used = slice(
            int(np.searchsorted(self.levels, self.levels[0], "right")) - 1,
            int(np.searchsorted(self.levels, self.levels[-1])) + 1,
        )
        levels = self.levels[used]
        return graph.interpolate(
            [(levels, level.clip(levels[0], levels[-1]))], self.quantiles[used]
        )


def with_copies(values: NDArray[T], weight: Floats) -> tuple[NDArray[T], Floats]:
    """Return events of weight two as two events, and so on, where the weights allow it.

    How finely a sample may be looked at depends on how many events it has, and an event of double
    weight shall count as two. The scale of weights tells nothing, so they count copies if all are
    whole multiples of one number, the smallest of them or a small part of it.
    """
    size = np.abs(weight)
    for part in range(1, MOST_PARTS + 1):
        copies = size * part / size.min()
        if copies.sum() > min(MOST_COPIES * len(size), MOST_EVENTS):
            break
        if np.abs(copies - np.round(copies)).max() < 1e-9:
            count = np.round(copies).astype(np.int64)
            return np.repeat(values, count, axis=0), np.repeat(weight / count, count)
    return values, weight


def count_below(nodes: Floats, values: Floats) -> NDArray[np.int64]:
    """Return how many of the nodes, which increase, lie below each value.

    That is `np.searchsorted(nodes, values)`. It halves for all values at once, where NumPy takes
    one after the other: its branches go wrong half of the time, and it was measured to take three
    times as long among a thousand nodes.

    >>> count_below(np.array([0.0, 1.0, 2.0]), np.array([-1.0, 1.0, 1.5, 9.0]))
    array([0, 1, 2, 3])
    """
    steps = [2**k for k in reversed(range(len(nodes).bit_length()))]
    padded = np.concatenate([nodes, np.full(sum(steps) - len(nodes), np.inf)])
    found = np.zeros(len(values), dtype=np.int64)
    for step in steps:
        found += step * (padded[step - 1 :].take(found) < values)
    return found


class Locator:
    """Finds the node before each of many values, among nodes that increase.

    Equal buckets of the range know where their nodes begin, so most values are two steps away.
    Where nodes crowd, as in a tail, few values lie: these are found by halving.

    >>> Locator(np.array([0.0, 1.0, 2.0, 8.0])).before(np.array([-1.0, 1.5, 7.0, 9.0]))
    array([0, 1, 2, 2])
    """

    def __init__(self, nodes: Floats) -> None:
        self.nodes, self._inner = nodes, nodes[1:-1]
        low, high = self.nodes[[0, -1]]
        with np.errstate(over="ignore", divide="ignore"):
            scale = BUCKETS / (high - low)
        # Where the range is too small or too large for a scale, everything is in one bucket.
        self._low, self._scale = low, scale if np.isfinite(scale) else 0.0
        filled = self._bucket(self._inner)
        self._first = np.searchsorted(filled, np.arange(BUCKETS))
        count = np.bincount(filled, minlength=BUCKETS)
        # As few halvings as leave few nodes, which lie where the events are, in crowded buckets.
        halvings = 1
        while halvings < HALVINGS and count[count >= 2**halvings].sum() > CROWDED * len(
            self._inner
        ):
            halvings += 1
        self._steps = [2**k for k in reversed(range(halvings))]
        self._padded = np.concatenate([self._inner, np.full(sum(self._steps), np.inf)])
        self._first[count > sum(self._steps)] = -1

    def _bucket(self, values: Floats) -> NDArray[np.int64]:
        if not self._scale:
            return np.zeros(len(values), dtype=np.int64)
        with np.errstate(over="ignore"):
            place = values - self._low
            place *= self._scale
        return np.asarray(np.clip(place, 0, BUCKETS - 1, out=place), dtype=np.int64)

    def before(self, values: Floats) -> NDArray[np.int64]:
        """Return the node before each; for those beyond the ends, the first or last but one."""
        found = self._first.take(self._bucket(values))
        rest = np.flatnonzero(found < 0)
        for step in self._steps:
            beyond = self._padded[step - 1 :].take(found) < values
            found += beyond if step == 1 else step * beyond
        if len(rest):
            # Its steps cost the same for one value as for some hundreds.
            count = count_below if len(rest) > FEW else np.searchsorted
            found[rest] = count(self._inner, values[rest])
        return found


def _with_atoms(
    quantiles: Floats, levels: Floats, ordered: Floats, cumulative: Floats
) -> tuple[Floats, Floats]:
    """Add the levels at which each atom of the sample starts and ends."""
    values, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    end = cumulative[first + counts - 1] / cumulative[-1]
    start = np.concatenate([[0.0], end[:-1]])
    atom = (counts > 1) & (end - start >= ATOM)
    knots = np.concatenate([quantiles, values[atom], values[atom]])
    heights = np.concatenate([levels, start[atom], end[atom]])
    order = np.lexsort([heights, knots])
    # A quantile just beside an atom may lie inside its jump; the outermost levels stay put.
    heights = np.maximum.accumulate(heights[order]).clip(levels[0], levels[-1])
    return knots[order], heights
