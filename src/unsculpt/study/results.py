"""The table of results, by what the figures ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq

from unsculpt.inputs import Floats

RECIPES = {"paper flow": "the paper's flow", "ours": "our splines"}
"""What is put on top of every classifier: steps of the study, and their names for people."""


@dataclass(frozen=True)
class Results:
    """Rows of the table."""

    rows: list[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the table of a run."""
        return cls(pq.read_table(path).to_pylist())

    def where(self, **conditions: Any) -> Results:
        """Return the rows that agree with all conditions."""
        return Results(
            [row for row in self.rows if all(row.get(k) == v for k, v in conditions.items())]
        )

    def __bool__(self) -> bool:
        return bool(self.rows)

    def column(self, name: str) -> list[Any]:
        """Return a column."""
        return [row[name] for row in self.rows]

    def values(self, column: str) -> list[Any]:
        """Return the different values of a column, in order."""
        return sorted(set(self.column(column)))

    def grid(self, value: str, along: str = "alpha") -> Floats:
        """Return the numbers of a column, (values of `along`, seeds)."""
        return np.array(
            [
                [row[value] for row in sorted(self.where(**{along: x}).rows, key=_seed)]
                for x in self.values(along)
            ]
        )

    def ratio(self, along: str = "alpha", end: str = "") -> Floats:
        """Return 1/JSD50 over its ideal, (values of `along`, seeds)."""
        return self.grid(f"inverse_jsd50{end}", along) / self.grid(f"ideal{end}", along)


def family(results: Results, name: str, decorrelation: str) -> Results:
    """Return the main grid's rows of a family before or after a decorrelation."""
    step = "classifier" if decorrelation == "none" else decorrelation
    return results.where(step=step, family=name)


def families(results: Results) -> Sequence[str]:
    """Return the families of the main figure that were run, in its order."""
    order = ["vDNN", "DNN (cf-inputs)", "DisCo", "MoDe", "adversary"]
    present = {row["family"] for row in results.rows}
    return [name for name in order if name in present]


def _seed(row: dict[str, Any]) -> int:
    return int(row["seed"])
