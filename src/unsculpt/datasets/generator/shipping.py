"""Turn a generated sample into the file that ships with the package.

Run ``python -m unsculpt.datasets.generator.shipping jets.parquet OUT.parquet`` on the output of
``unsculpt generate jets.parquet --qcd 290000 --w 155000 --top 65000 --seed 2024``.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unsculpt.datasets.generator.parts import write_whole
from unsculpt.datasets.generator.processes import PROCESSES
from unsculpt.datasets.schema import COLUMNS, SPLITS

SHIPPED = {
    "qcd": (110_000, 30_000, 150_000),
    "w": (110_000, 15_000, 30_000),
    "top": (40_000, 5_000, 20_000),
}
"""Jets of each process in train, val and test: whole parts, since an event can give two jets."""


def ship(sample: Path, path: Path, sizes: dict[str, tuple[int, int, int]] = SHIPPED) -> None:
    """Cut a sample into splits and write it as small as it gets without losing a digit."""
    jets = pq.read_table(sample)
    made = json.loads(jets.schema.metadata[b"jets"])
    pieces = []
    for number, split in enumerate(SPLITS):
        for name, size in sizes.items():
            mine = jets.filter(pc.field("process") == PROCESSES[name].code)
            if len(mine) < sum(size) or any(n % made[name]["jets_in_part"] for n in size):
                raise ValueError(f"{sample} cannot give {size} {name} jets in whole parts")
            piece = mine.slice(sum(size[:number]), size[number])
            pieces.append(piece.append_column("split", pa.repeat(split, len(piece))))
    write_whole(
        pa.concat_tables(pieces),
        path,
        row_group_size=2**16,  # a reader of one split skips most of the others
        compression_level=19,
        use_dictionary=["split"],
        use_byte_stream_split=list(COLUMNS),
    )


if __name__ == "__main__":
    ship(Path(sys.argv[1]), Path(sys.argv[2]))
