"""How differently a selection treats groups of people, in the words of that field.

Names and definitions are fairlearn's. What it calls the sensitive features are `protected` here.
"""

from collections.abc import Mapping
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unsculpt.inputs import (
    Floats,
    Mask,
    as_array,
    column,
    none_missing,
    not_empty,
    protected_columns,
    same_length,
    weight_column,
)
from unsculpt.metrics.binning import bin_edges, bin_index, weight_in_bins

Bins: TypeAlias = int | ArrayLike | Mapping[Any, int | ArrayLike] | None
MOST_GROUPS = 20  # numbers with more different values than this are no categories


def demographic_parity_difference(
    selected: ArrayLike,
    protected: Any,
    *,
    bins: Bins = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the largest difference between groups in the share that is selected.

    The groups are the values of the attributes; of several attributes, the combinations that
    occur. A continuous attribute is divided by `bins`: small groups scatter, and the largest
    difference grows with their number, so compare with a random selection of the same size.

    Args:
        selected: whether each person is selected, (n,): truth values, or 0 and 1.
        protected: the attributes, (n,), (n, k), or a table with named columns; numbers or text.
        bins: for one attribute, a number of equal bins or the edges, as in `bin_edges`; for
            several, those of each continuous one by name or position, `{"age": [0, 25, 50, 100]}`.
            Quantiles are edges too: `np.quantile(age, [0, 0.25, 0.5, 0.75, 1])`. Who is outside
            the edges is in no group.
        sample_weight: weights, negative ones included.

    Returns:
        The difference, 0 if all groups are treated alike.

    Examples:
        >>> demographic_parity_difference([1, 1, 0, 1, 0, 0], ["f", "f", "f", "m", "m", "m"])
        0.3333333333333333
        >>> demographic_parity_difference([1, 1, 0, 1], [20.5, 31, 44, 62], bins=[20, 40, 70])
        0.5
    """
    people = _People(selected, protected, bins, sample_weight)
    return people.difference(np.ones(len(people.selected), dtype=bool), "people")


def equal_opportunity_difference(
    selected: ArrayLike,
    labels: ArrayLike,
    protected: Any,
    *,
    bins: Bins = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the largest difference between groups in the share of positives that is selected.

    Args:
        selected: whether each person is selected, (n,): truth values, or 0 and 1.
        labels: 1 for who should be selected, 0 for who should not.
        protected: the attributes; see `demographic_parity_difference`.
        bins: bins of continuous attributes, as in `demographic_parity_difference`.
        sample_weight: weights, negative ones included.

    Returns:
        The difference in true positive rates, 0 if all groups have the same.

    Examples:
        >>> selected, labels = [1, 1, 0, 1, 0, 0], [1, 1, 0, 1, 1, 0]
        >>> equal_opportunity_difference(selected, labels, ["f", "f", "f", "m", "m", "m"])
        0.5
    """
    people = _People(selected, protected, bins, sample_weight)
    return people.difference(people.flags(labels, "labels"), "positives")


def equalized_odds_difference(
    selected: ArrayLike,
    labels: ArrayLike,
    protected: Any,
    *,
    bins: Bins = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the larger of the differences in the share selected of positives and of negatives.

    Args:
        selected: whether each person is selected, (n,): truth values, or 0 and 1.
        labels: 1 for who should be selected, 0 for who should not.
        protected: the attributes; see `demographic_parity_difference`.
        bins: bins of continuous attributes, as in `demographic_parity_difference`.
        sample_weight: weights, negative ones included.

    Returns:
        The larger of the differences in true and in false positive rates.

    Examples:
        >>> selected, labels = [1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 1, 0]
        >>> equalized_odds_difference(selected, labels, ["f", "f", "f", "m", "m", "m"])
        1.0
    """
    people = _People(selected, protected, bins, sample_weight)
    positive = people.flags(labels, "labels")
    return max(people.difference(positive, "positives"), people.difference(~positive, "negatives"))


class _People:
    """Who is selected, and the group and weight of each."""

    def __init__(
        self, selected: ArrayLike, protected: Any, bins: Bins, sample_weight: ArrayLike | None
    ) -> None:
        given = as_array(selected, "selected")
        self.selected = _flags(given, "selected", given.size)
        not_empty(self.selected, "selected")
        self.weight = weight_column(sample_weight, given.size, "selected")
        self.names, columns = protected_columns(protected)
        same_length(given.size, "selected", protected=len(columns[0]))
        edges = _by_position(bins, self.names)
        parts = [
            _part(values, name, edges.get(i))
            for i, (values, name) in enumerate(zip(columns, self.names, strict=True))
        ]
        table = np.column_stack([index for index, _ in parts])
        self.words = [words for _, words in parts]
        inside = (table >= 0).all(axis=1)
        self.groups, self.group = np.unique(table[inside], axis=0, return_inverse=True)
        if len(self.groups) < 2:
            raise ValueError(
                f"{', '.join(self.names)}: all {inside.sum():,} people inside the bins are of one "
                "group; expected two or more to compare"
            )
        self.inside = inside

    def flags(self, values: ArrayLike, name: str) -> Mask:
        """Return one truth value per person."""
        return _flags(values, name, len(self.selected))

    def difference(self, among: Mask, what: str) -> float:
        """Return the largest difference in the share selected among some of the people."""
        weight = np.where(among, self.weight, 0.0)[self.inside]
        selected = self.selected[self.inside]
        total = weight_in_bins(self.group, weight, len(self.groups))
        if (total <= 0).any():
            group = self.groups[int(total.argmin())]
            where = ", ".join(
                f"{name} {words[i]}"
                for name, words, i in zip(self.names, self.words, group, strict=True)
            )
            raise ValueError(
                f"the group of {where} has no {what}, or none with a positive total weight; use "
                "wider bins, or leave the group out"
            )
        rates = weight_in_bins(self.group, weight * selected, len(self.groups)) / total
        return float(np.ptp(rates))


def _flags(values: ArrayLike, name: str, length: int) -> Mask:
    floats = column(values, name, length, "selected")
    odd = np.count_nonzero((floats != 0) & (floats != 1))
    if odd:
        raise ValueError(
            f"{name} is neither 0 nor 1 in {odd:,} of {length:,} people; expected truth values, "
            "such as score >= cut"
        )
    return np.asarray(floats == 1)


def _by_position(bins: Bins, names: list[str]) -> dict[int, Any]:
    """Return the bins of each attribute that has some."""
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        if len(names) > 1:
            raise ValueError(
                f"protected has the columns {names}; say whose bins these are, as in "
                f"bins={{{names[0]!r}: 5}}"
            )
        return {0: bins}
    found = {}
    for which, edges in bins.items():
        if which in names:
            found[names.index(which)] = edges
        elif isinstance(which, int) and 0 <= which < len(names):
            found[which] = edges
        else:
            raise ValueError(f"bins names {which!r}, but protected has the columns {names}")
    return found


def _part(values: NDArray[Any], name: str, bins: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return the group of each person by one attribute, -1 for none, and the groups in words."""
    if bins is not None:
        floats = column(values, name)
        not_empty(floats, name)
        edges: Floats = bin_edges(floats, bins)
        index = bin_index(floats, edges)
        index[index == len(edges) - 1] = -1
        return index, [f"{a:g} to {b:g}" for a, b in pairwise(edges)]
    # Tables keep numbers as objects where one of them is missing, or was once text.
    objects = values.dtype.kind == "O" and all(v is None or isinstance(v, Real) for v in values)
    if values.dtype.kind == "f" or objects:
        values = column(values, name)
    none_missing(values, name, "people")
    kinds, index = np.unique(
        values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True
    )
    if kinds.dtype.kind in "iuf" and len(kinds) > MOST_GROUPS:
        raise ValueError(
            f"{name} has {len(kinds):,} different values, too many for groups; pass their bins, "
            f"such as bins={{{name!r}: 5}}, or text if they are categories"
        )
    return index, [repr(kind.item()) for kind in kinds]
