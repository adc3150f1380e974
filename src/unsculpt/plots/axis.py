"""A protected attribute as the axis of a figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from unsculpt import metrics
from unsculpt.inputs import Floats


@dataclass(frozen=True)
class Axis:
    """The values of an attribute and its bins; a category is its place in the alphabet."""

    name: str
    values: Floats
    edges: Floats
    categories: tuple[str, ...] = ()

    @classmethod
    def from_events(
        cls, protected: ArrayLike | Axis, labels: ArrayLike, bins: int | ArrayLike, name: str
    ) -> Axis:
        """Take a column of numbers or of text; `bins` equal ones hold the background."""
        if isinstance(protected, Axis):
            return protected
        column = np.asarray(protected)
        if column.shape != np.shape(labels):
            raise ValueError(
                f"{name} has shape {column.shape} but labels has {np.shape(labels)}; "
                "pass one entry per event"
            )
        if column.dtype.kind in "OSU":
            names, codes = np.unique(column.astype(str), return_inverse=True)
            edges = np.arange(len(names) + 1, dtype=float) - 0.5
            return cls(name, codes.astype(float), edges, tuple(names))
        values = column.astype(float)
        if np.ndim(bins) == 0:
            background = values[np.asarray(labels) == 0]
            low, high = np.quantile(background, [0.001, 0.999])
            # A few events far out must not squeeze all others into one bin.
            if 0 < 3 * (high - low) < np.ptp(background):
                background = np.array([low, high])
            return cls(name, values, metrics.bin_edges(background, bins))
        return cls(name, values, metrics.bin_edges(values, bins))

    def with_bins(self, number: int) -> Axis:
        """Return the same range in so many equal bins; categories stay as they are."""
        if self.categories:
            return self
        return replace(self, edges=np.linspace(self.edges[0], self.edges[-1], number + 1))

    def at_most(self, number: int) -> Axis:
        """Return the bins as they are, or so many equal ones if they are more."""
        return self if len(self.edges) - 1 <= number else self.with_bins(number)

    def bins(self) -> list[str]:
        """Return what each bin is called."""
        ends = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(self.edges)]
        return list(self.categories) or ends

    def dress(self, axes: Axes) -> None:
        """Set the label, the range and the ticks."""
        axes.set(xlabel=self.name, xlim=(self.edges[0], self.edges[-1]))
        if self.categories:
            axes.set_xticks(range(len(self.categories)), self.categories)
            axes.tick_params(axis="x", which="minor", bottom=False, top=False)
