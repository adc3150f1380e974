"""The jets that come with the package."""

from importlib.resources import as_file, files

import numpy as np

from unsculpt.datasets.schema import COLUMNS, VARIABLES, Jets, check_split


def load_jets(split: str | None = None, *, top: bool = False) -> Jets:
    """Read the W and QCD jets of 300 to 400 GeV that come with the package.

    Anti-kt jets of radius 1 with a mass of 50 to 300 GeV, from Pythia 8 at 13 TeV and a
    parametric calorimeter: docs/jets.md has the details. The jets of a split come class after
    class, QCD first: shuffle before training in batches. No event is in two splits.

    Args:
        split: ``"train"`` (110k QCD, 110k W), ``"val"`` (30k, 15k), ``"test"`` (150k, 30k), or
            ``None`` for all of them in this order.
        top: Whether to add the top jets (40k, 5k and 20k), with label 2.

    Returns:
        The jets; all their weights are one.

    Example:
        >>> from unsculpt.datasets import load_jets
        >>> jets = load_jets("val")
        >>> jets.features.shape
        (45000, 10)
    """
    import pyarrow.parquet as pq

    check_split(split)
    wanted: list[tuple[str, str, int | str]] = [("process", "<=", 2 if top else 1)]
    if split is not None:
        wanted.append(("split", "==", split))
    with as_file(files("unsculpt.datasets") / "data" / "jets.parquet") as path:
        table = pq.read_table(path, columns=[*COLUMNS, "process"], filters=wanted)
    return Jets(
        features=np.stack([table[name].to_numpy() for name in VARIABLES], axis=1),
        names=VARIABLES,
        mass=table["mass"].to_numpy().copy(),  # Arrow's own memory is read-only
        label=table["process"].to_numpy().copy(),
        weight=np.ones(len(table), np.float32),
    )
