"""A figure of a report with its words and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from unsculpt.inputs import Floats
from unsculpt.metrics import Ideal, Interval
from unsculpt.report.words import number, with_error


@dataclass(frozen=True)
class Table:
    """What a figure shows, in numbers: the first column names the rows."""

    header: list[str]
    rows: list[list[str]]

    @classmethod
    def from_columns(
        cls, first: str, names: Sequence[str], columns: Mapping[str, Interval[Floats] | Floats]
    ) -> Table:
        """Write columns of numbers, with their errors, beside the names of their rows."""
        cells = [_cells(column) for column in columns.values()]
        rows = [[name, *row] for name, *row in zip(names, *cells, strict=True)]
        return cls([first, *columns], rows)


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files, its heading and what one sees in it."""

    slug: str
    title: str
    caption: str
    figure: Figure
    tables: list[Table]


def _cells(column: Interval[Floats] | Floats) -> list[str]:
    """Return numbers as text, with their errors where they have any."""
    if not isinstance(column, Interval):
        return [number(x) for x in column]
    with np.errstate(invalid="ignore"):  # both ends may be infinite, where weights cancel
        spreads = (np.asarray(column.high) - np.asarray(column.low)) / 2
    return [
        " ".join(with_error(Ideal(value, spread))).strip()
        for value, spread in zip(column.value, spreads, strict=True)
    ]
