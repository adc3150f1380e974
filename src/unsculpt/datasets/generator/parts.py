"""A sample in parts, each a stream of events that depends on its number and the seed alone."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unsculpt.atomic import atomic_write
from unsculpt.datasets.generator.detector import Detector
from unsculpt.datasets.generator.events import Events
from unsculpt.datasets.generator.processes import PROCESSES, settings
from unsculpt.datasets.generator.selection import select
from unsculpt.datasets.generator.substructure import variables_of_jets
from unsculpt.datasets.generator.window import WINDOW
from unsculpt.datasets.schema import COLUMNS

BATCH = 200  # events at once: enough for arrays to pay, little enough to fit in memory


@dataclass(frozen=True)
class Part:
    """The first ``jets`` jets of one of the event streams of a process.

    Args:
        process: A key of :data:`~unsculpt.datasets.generator.processes.PROCESSES`.
        number: Which stream, from 0.
        jets: How many jets to take from it.
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
        recipe = asdict(self) | {
            "pythia": settings(PROCESSES[self.process]),
            "window": WINDOW,
            "versions": {name: version(name) for name in ("pythia8mc", "fastjet")},
        }
        return json.loads(json.dumps(recipe))  # type: ignore[no-any-return]

    def is_in(self, folder: Path) -> bool:
        """Whether ``folder`` already has these jets; jets of another recipe are an error."""
        path = self.path(folder)
        if not path.exists():
            return False
        made, wanted = read_recipe(path), self.recipe()
        changed = [key for key in wanted if key != "jets" and made[key] != wanted[key]]
        if changed:
            raise ValueError(
                f"{path} was made with another {', '.join(changed)}: "
                "write to another file, or remove the folder to start again"
            )
        return bool(made["jets"] >= self.jets)

    def make(self, advance: Callable[[int], object] = lambda jets: None) -> pa.Table:
        """Generate the jets; ``advance`` is told how many came with every batch of events."""
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


def write_whole(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table so that the file appears whole or not at all."""
    with atomic_write(path) as draft:
        pq.write_table(table, draft, compression="zstd", **options)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the recipe a part was made by, with its event counts and cross-section."""
    metadata = pq.read_schema(path).metadata
    return json.loads(metadata[b"recipe"])  # type: ignore[no-any-return]


def merge(parts: list[Part], folder: Path, path: Path) -> None:
    """Join the parts, process by process, into one file with the metadata of all."""
    tables, metadata = [], {}
    for name in PROCESSES:
        mine = [part for part in parts if part.process == name]
        if mine:
            tables += [pq.read_table(part.path(folder))[: part.jets] for part in mine]
            metadata[name] = summary(mine, folder)
    joined = pa.concat_tables(tables).replace_schema_metadata({"jets": json.dumps(metadata)})
    write_whole(joined, path)


def summary(parts: list[Part], folder: Path) -> dict[str, Any]:
    """Return what the parts of one process have in common, and their counts added up.

    ``cross_section_pb`` is that of the events the early veto lets pass,
    ``jet_cross_section_pb`` that of the selected jets.
    """
    recipes = [read_recipe(part.path(folder)) for part in parts]
    common = {key: recipes[0][key] for key in ("seed", "detector", "pythia", "window", "versions")}
    events, found = (sum(recipe[key] for recipe in recipes) for key in ("events", "jets_found"))
    cross_section = sum(r["events"] * r["cross_section_pb"] for r in recipes) / events
    return common | {
        "jets": sum(part.jets for part in parts),
        "jets_in_part": parts[0].jets,
        "events": events,
        "cross_section_pb": cross_section,
        "jet_cross_section_pb": cross_section * found / events,
    }
