import json

import numpy as np
import pyarrow.parquet as pq
import pytest

for needed in ("numba", "awkward", "fastjet", "pythia8mc"):
    pytest.importorskip(needed, reason="needs the extra `generate`")

from unsculpt.datasets import COLUMNS, generate

pytestmark = pytest.mark.slow
SIZE = {"qcd": 50, "w": 30, "part": 30, "seed": 7}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("jets") / "jets.parquet", workers=2, **SIZE)


def column(path, name):
    return pq.read_table(path)[name].to_numpy()


def test_jets_are_counted_and_in_the_window(sample):
    assert pq.read_schema(sample).names == [*COLUMNS, "process"]
    assert np.bincount(column(sample, "process")).tolist() == [50, 30]
    assert np.all(np.abs(column(sample, "pt") - 350) <= 50)
    assert np.all(np.abs(column(sample, "mass") - 175) <= 125)
    assert all(np.isfinite(column(sample, name)).all() for name in COLUMNS)


def test_metadata_say_how_it_was_made(sample):
    made = json.loads(pq.read_schema(sample).metadata[b"jets"])
    assert made["qcd"]["seed"] == 7
    assert made["qcd"]["jets"] == 50
    assert made["w"]["detector"]["threshold"] == 0.5
    assert "HardQCD:all = on" in made["qcd"]["pythia"]
    assert set(made["qcd"]["versions"]) == {"pythia8mc", "fastjet"}
    assert 5e3 < made["qcd"]["jet_cross_section_pb"] < 3e4
    assert made["qcd"]["events"] > 50


def test_workers_do_not_matter(sample, tmp_path):
    again = generate(tmp_path / "again.parquet", workers=1, **SIZE)
    assert again.read_bytes() == sample.read_bytes()


def test_resumes_with_what_is_missing(sample, tmp_path):
    before = sample.read_bytes()
    first, second = (sample.with_suffix(".parts") / f"qcd-0000{n}.parquet" for n in (0, 1))
    kept = first.stat().st_mtime_ns
    second.unlink()
    sample.unlink()
    generate(sample, workers=1, **SIZE)
    assert sample.read_bytes() == before
    assert first.stat().st_mtime_ns == kept


def test_more_jets_begin_with_the_same(sample):
    qcd = column(sample, "d2")[:50]
    more = generate(sample.with_name("more.parquet"), **SIZE | {"qcd": 60, "w": 0}, workers=1)
    assert np.array_equal(column(more, "d2")[:50], qcd)


def test_other_settings_do_not_mix(sample):
    with pytest.raises(ValueError, match="made with another seed"):
        generate(sample, **SIZE | {"seed": 8})


def test_the_detector_can_be_switched_off(tmp_path):
    truth = generate(tmp_path / "truth.parquet", w=40, detector=False, workers=1)
    assert json.loads(pq.read_schema(truth).metadata[b"jets"])["w"]["detector"] is None
    assert 75 < np.median(column(truth, "mass")) < 95


def test_no_jets_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no jets"):
        generate(tmp_path / "none.parquet")
