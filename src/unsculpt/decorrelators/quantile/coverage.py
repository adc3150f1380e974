"""How much background really lies below each quantile."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.decorrelators.common.attributes import Categorical, Continuous
from unsculpt.inputs import Floats
from unsculpt.metrics.binning import bin_edges, events_by_bin


@dataclass(frozen=True)
class Coverage:
    """The fraction of events below each quantile, in bins of a protected attribute.

    Attributes:
        bins: what each bin is called.
        quantiles: what the fractions should be, (q,).
        fraction: what they are, (bins, q), or (bins, k, q) for k scores; NaN in a bin without
            weight.
        error: their statistical uncertainty, of the same shape.
    """

    bins: list[str]
    quantiles: Floats
    fraction: Floats
    error: Floats

    @classmethod
    def measure(
        cls,
        below: NDArray[np.bool_],
        quantiles: Floats,
        groups: dict[str, NDArray[np.intp]],
        weight: Floats,
    ) -> Coverage:
        """Count what lies below, (n, ..., q), in groups of events."""
        fraction = np.full((len(groups), *below.shape[1:]), np.nan)
        error = fraction.copy()
        for i, rows in enumerate(groups.values()):
            total = weight[rows].sum()
            if total > 0:
                shares = weight[rows] / total
                fraction[i] = np.tensordot(shares, below[rows], 1)
                error[i] = np.tensordot(shares**2, (below[rows] - fraction[i]) ** 2, 1) ** 0.5
        return cls(list(groups), quantiles, fraction, error)

    def __str__(self) -> str:
        """Return a table: a line for each bin, a column for each quantile."""
        width = max(map(len, self.bins))
        lines = [" " * width + "".join(f"{q:>18.4g}" for q in self.quantiles)]
        for name, fractions, errors in zip(self.bins, self.fraction, self.error, strict=True):
            for values in np.stack([fractions, errors], axis=-1).reshape(
                -1, len(self.quantiles), 2
            ):
                lines.append(
                    f"{name:>{width}}" + "".join(f"{f:10.4f} ± {e:.3f}" for f, e in values)
                )
        return "\n".join(lines)


def groups_of(
    attribute: Continuous | Categorical, values: NDArray[Any], bins: int | ArrayLike
) -> dict[str, NDArray[np.intp]]:
    """Return the positions of the events of each bin, or of each category, by its name."""
    if isinstance(attribute, Categorical):
        return {str(value): np.flatnonzero(values == value) for value in attribute.values}
    edges = bin_edges(values, bins)
    names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    return dict(zip(names, events_by_bin(values.astype(float), edges), strict=True))
