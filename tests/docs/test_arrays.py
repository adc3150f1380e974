"""The page's jets and its processor run, in chunks, and give what flat arrays give."""

import re
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_jets_of_events():
    names = {}
    exec(blocks()[0], names)
    toy, model = names["toy"], names["model"]
    flat = model.transform(toy.score, toy.protected)
    assert np.array_equal(ak.flatten(names["flat"]), flat)
    assert np.array_equal(ak.to_numpy(names["leading"]), flat[::2])
    assert str(names["cut"].type) == "10000 * var * 2 * float64"


@pytest.mark.filterwarnings("ignore")  # of what coffea brings with it
def test_a_processor_of_coffea(tmp_path):
    processor = pytest.importorskip("coffea.processor")
    from coffea.nanoevents import NanoAODSchema

    names = {}
    exec("\n".join(blocks()), names)
    toy, model = names["toy"], names["model"]
    model.save(tmp_path / "w.unsculpt")
    counts = np.where(np.arange(10_000) < 5_000, np.arange(10_000) % 5, 0)  # empty chunks last
    jets = ak.unflatten(ak.flatten(names["jets"])[: counts.sum()], counts)
    with uproot.recreate(tmp_path / "nano.root") as file:
        numbers = {name: np.arange(10_000) for name in ("run", "luminosityBlock", "event")}
        file["Events"] = {"Jet": jets} | numbers
    run = processor.Runner(
        executor=processor.IterativeExecutor(status=False), schema=NanoAODSchema, chunksize=1_000
    )
    files = {"qcd": [str(tmp_path / "nano.root")]}
    found = run(files, names["Tagged"](tmp_path / "w.unsculpt"), treename="Events")
    seen = slice(counts.sum())
    kept = model.transform(toy.score[seen], toy.protected[seen]) > 0.9
    assert found["jets"] == counts.sum()
    expected = np.histogram(toy.protected[seen][kept], 10, (0, 1))[0]
    assert found["kept"].tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore")
def test_lazy_arrays_of_dask():
    lazy = pytest.importorskip("dask_awkward")
    names = {}
    exec(blocks()[0], names)
    model, jets = names["model"], names["jets"]
    events = lazy.from_awkward(jets, npartitions=3)
    flat = model.transform(events.score, events.mass)
    assert isinstance(flat, lazy.Array)
    assert ak.array_equal(flat.compute(scheduler="sync"), names["flat"])
    with pytest.raises(ValueError, match="compute the lazy arrays first"):
        model.fit(events.score, events.mass)
