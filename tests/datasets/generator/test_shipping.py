import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

for needed in ("numba", "awkward", "fastjet", "pythia8mc"):
    pytest.importorskip(needed, reason="needs the extra `generate`")

from unsculpt.datasets import COLUMNS, load_jets, shipped
from unsculpt.datasets.generator.shipping import ship
from unsculpt.datasets.schema import SPLITS

SIZES = {"qcd": (40, 10, 20), "w": (30, 10, 10), "top": (10, 10, 10)}


@pytest.fixture
def sample(tmp_path):
    process = np.repeat(np.arange(3, dtype=np.int8), [sum(size) for size in SIZES.values()])
    rng = np.random.default_rng(0)
    columns = {name: rng.random(len(process), dtype=np.float32) for name in COLUMNS}
    made = json.dumps({name: {"jets_in_part": 10} for name in SIZES})
    pq.write_table(
        pa.table(columns | {"process": process}, metadata={"jets": made}), tmp_path / "all.parquet"
    )
    return tmp_path / "all.parquet"


@pytest.fixture
def mine(sample, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    ship(sample, tmp_path / "data" / "jets.parquet", SIZES)
    monkeypatch.setattr(shipped, "files", lambda package: tmp_path)
    return pq.read_table(sample)


def test_splits_have_their_sizes(mine):
    sizes = {split: np.bincount(load_jets(split, top=True).label) for split in SPLITS}
    assert {split: tuple(map(int, size)) for split, size in sizes.items()} == {
        split: tuple(SIZES[name][i] for name in SIZES) for i, split in enumerate(SPLITS)
    }


def test_every_jet_is_in_one_split_to_the_last_digit(mine):
    jets = load_jets(top=True)
    assert np.array_equal(np.sort(jets.mass), np.sort(mine["mass"].to_numpy()))
    d2 = jets.features[:, jets.names.index("d2")]
    assert np.array_equal(np.sort(d2), np.sort(mine["d2"].to_numpy()))
    together = np.concatenate([load_jets(split, top=True).mass for split in SPLITS])
    assert np.array_equal(together, jets.mass)


def test_tops_come_when_asked_for(mine):
    assert np.bincount(load_jets("test").label).tolist() == [20, 10]
    assert np.bincount(load_jets("test", top=True).label).tolist() == [20, 10, 10]


def test_the_file_keeps_how_it_was_made(mine, tmp_path):
    shipped_schema = pq.read_schema(tmp_path / "data" / "jets.parquet")
    assert shipped_schema.metadata[b"jets"] == mine.schema.metadata[b"jets"]


def test_a_split_in_the_middle_of_a_part_is_refused(sample, tmp_path):
    with pytest.raises(ValueError, match="qcd jets in whole parts"):
        ship(sample, tmp_path / "out.parquet", {"qcd": (15, 10, 10)})
    with pytest.raises(ValueError, match="cannot give"):
        ship(sample, tmp_path / "out.parquet", {"qcd": (500, 10, 10)})
