"""One part of a sample: a fixed number of jets that depend on its name and the seed alone."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unsculpt.datasets.columns import COLUMNS
from unsculpt.datasets.generator.detector import Detector
from unsculpt.datasets.generator.window import WINDOW

BATCH = 200  # events at once: enough for arrays to pay, little enough to fit in memory


@dataclass(frozen=True)
class Part:
    """The jets ``number * jets`` to ``(number + 1) * jets`` of one process.

    Args:
        process: A key of :data:`~unsculpt.datasets.generator.processes.PROCESSES`.
        number: Which part of the process, from 0.
        jets: How many jets it holds.
        seed: The seed of the whole sample.
        detector: The calorimeter, or ``None`` for jets of visible particles.
    """

    process: str
    number: int
    jets: int
    seed: int
    detector: Detector | None

    def path(self, folder: Path) -> Path:
        """Where the part is kept."""
        return folder / f"{self.process}-{self.number:05d}.parquet"

    def recipe(self) -> dict[str, Any]:
        """Everything the jets depend on, in a form that JSON keeps."""
        from unsculpt.datasets.generator.processes import PROCESSES, settings

        recipe = asdict(self) | {
            "pythia": settings(PROCESSES[self.process]),
            "window": WINDOW,
            "versions": {name: version(name) for name in ("pythia8mc", "fastjet")},
        }
        return json.loads(json.dumps(recipe))  # type: ignore[no-any-return]

    def is_in(self, folder: Path) -> bool:
        """Whether ``folder`` already has the part; one made by another recipe is an error."""
        path = self.path(folder)
        if not path.exists():
            return False
        made = read_recipe(path)
        changed = [key for key, value in self.recipe().items() if made[key] != value]
        if changed:
            raise ValueError(
                f"{path} was made with another {', '.join(changed)}: "
                "write to another file, or remove the folder to start again"
            )
        return True

    def make(self, advance: Callable[[int], object] = lambda jets: None) -> pa.Table:
        """Generate the jets; ``advance`` is told how many came with every batch of events."""
        from unsculpt.datasets.generator.events import Events
        from unsculpt.datasets.generator.processes import PROCESSES
        from unsculpt.datasets.generator.selection import select
        from unsculpt.datasets.generator.substructure import variables_of_jets

        process = PROCESSES[self.process]
        stream = np.random.SeedSequence([self.seed, process.code, self.number])
        generator = Events(process, seed=1 + int(stream.generate_state(1)[0]) % 900_000_000)
        rng = np.random.default_rng(stream.spawn(1)[0])
        found, events, rows = 0, 0, []
        while found < self.jets:
            batch = generator.nextBatch(BATCH)
            constituents, counts = select(batch, process.quarks, self.detector, rng)
            rows.append(variables_of_jets(constituents, counts))
            events += len(batch)
            advance(min(len(counts), self.jets - found))
            found += len(counts)
        table = np.concatenate(rows)[: self.jets].astype(np.float32)
        made = {
            "events": events,
            "jets_found": found,
            "cross_section_pb": 1e9 * generator.infoPython().sigmaGen(),
        }
        columns: dict[str, Any] = dict(zip(COLUMNS, table.T, strict=True))
        columns["process"] = np.full(self.jets, process.code, np.int8)
        return pa.table(columns, metadata={"recipe": json.dumps(self.recipe() | made)})


def save(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table so that the file appears whole or not at all."""
    draft = path.with_name(path.name + ".draft")
    pq.write_table(table, draft, compression="zstd", **options)
    draft.replace(path)


def read_recipe(path: Path) -> dict[str, Any]:
    """The recipe a part was made by, with its event counts and cross-section."""
    metadata = pq.read_schema(path).metadata
    return json.loads(metadata[b"recipe"])  # type: ignore[no-any-return]


def merge(parts: list[Part], wanted: dict[str, int], folder: Path, path: Path) -> None:
    """Join the parts, process by process, into one file with the metadata of all.

    Args:
        parts: What to read.
        wanted: Number of jets of each process; what the last part has beyond it is left out.
        folder: Where the parts are.
        path: The file to write.
    """
    tables, metadata = [], {}
    for process, jets in wanted.items():
        mine = [part for part in parts if part.process == process]
        tables.append(pa.concat_tables(pq.read_table(part.path(folder)) for part in mine)[:jets])
        recipes = [read_recipe(part.path(folder)) for part in mine]
        events, found = (sum(recipe[key] for recipe in recipes) for key in ("events", "jets_found"))
        generated = sum(recipe["events"] * recipe["cross_section_pb"] for recipe in recipes)
        metadata[process] = mine[0].recipe() | {
            "jets": jets,
            "parts": len(mine),
            "events": events,
            "cross_section_pb": generated / events,
            "jet_cross_section_pb": generated / events * found / events,
        }
        del metadata[process]["number"], metadata[process]["process"]
    table = pa.concat_tables(tables).replace_schema_metadata({"jets": json.dumps(metadata)})
    save(table, path)
