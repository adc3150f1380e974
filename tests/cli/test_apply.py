import json
import resource
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import unsculpt as us
from unsculpt.files import scan
from unsculpt.saving import Model


def read(path):
    return pa.concat_tables(scan(path).chunks())


@pytest.mark.parametrize("output", ["flat.root", "flat.parquet"])
def test_adds_the_score_of_the_library(output, unsculpt, model, events, save, tmp_path):
    answer = unsculpt("apply", model, save(events, "a.root"), "-o", tmp_path / output)
    assert answer.exit_code == 0
    assert "Added tagger_flat to 1,000 rows" in answer.output
    table = read(tmp_path / output)
    assert table.column_names == [*events.column_names, "tagger_flat"]
    with pytest.warns(UserWarning, match="outside the fitted"):
        flat = us.load(model).transform(events["tagger"].to_numpy(), events["mass"].to_numpy())
    np.testing.assert_array_equal(table["tagger_flat"], flat)
    assert "mass was outside the fitted range in 1 of 1,000: the nearest" in answer.output


def test_many_columns_are_counted_not_named(unsculpt, model, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "b.parquet"
    answer = unsculpt("apply", model, path, "-o", output, "--variations", "3")
    assert "Added 7 columns, tagger_flat to tagger_flat_down_3, to 1,000 rows" in answer.output


def test_many_files_are_counted_not_named(unsculpt, model, events, save, tmp_path):
    files = [save(events[:9], f"{i}.csv") for i in range(6)]
    answer = unsculpt("apply", model, *files, "-o", f"{tmp_path}/out/")
    assert f"6 files, {tmp_path}/out/0.csv to {tmp_path}/out/5.csv\n" in answer.output


def test_no_control_characters_of_a_model(unsculpt, model, events, save, tmp_path):
    odd, names = us.load(model), {"\x1b[31mred": events["mass"]}
    odd.fit(events["tagger"].to_numpy()[:800], {name: x[:800] for name, x in names.items()})
    odd.source_ = {"score": ["tagger"], "protected": list(names)}
    odd.save(tmp_path / "odd.unsculpt")
    path = save(events, "a.parquet")
    told = "apply", tmp_path / "odd.unsculpt", path, "-o", tmp_path / "b.parquet"
    for place in ("mass", "mass / 1000"):
        answer = unsculpt(*told, "--protect", place)
        assert "\\x1b[31mred was outside" in answer.output
        assert "\x1b" not in answer.output + answer.stderr


def test_asks_for_units_where_most_is_outside(unsculpt, model, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "b.parquet"
    asked = "Warning: mass was outside the fitted range in most events; is it in the units of the"
    assert asked not in unsculpt("apply", model, path, "-o", output).stderr
    in_tev = unsculpt("apply", model, path, "-o", output, "--protect", "mass / 1000")
    assert in_tev.exit_code == 0
    assert asked in in_tev.stderr


def test_a_folder_and_scripts(unsculpt, model, events, save, tmp_path):
    files = save(events[:500], "1.csv"), save(events[500:], "2.csv")
    answer = unsculpt("apply", model, *files, "-o", f"{tmp_path}/out/", "--name", "new", "--json")
    answer = json.loads(answer.stdout)
    assert answer["files"] == [f"{tmp_path}/out/1.csv", f"{tmp_path}/out/2.csv"]
    assert (answer["rows"], answer["columns"]) == (1000, ["new"])
    assert read(tmp_path / "out/2.csv").column_names[-1] == "new"


def test_waits_for_no_library_that_it_does_not_need(model, events, save, tmp_path):
    arguments = ["apply", model, save(events, "a.parquet"), "-o", tmp_path / "b.parquet"]
    command = [sys.executable, "-X", "importtime", "-m", "unsculpt", *arguments]
    child = subprocess.run(command, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-2000:]
    loaded = {line.rpartition("|")[2].strip() for line in child.stderr.splitlines()}
    assert "sklearn.base" in loaded
    idle = {"awkward", "jax", "matplotlib", "pandas._libs", "scipy.stats._stats_py", "uproot"}
    assert not loaded & idle


def test_quiet(unsculpt, model, events, save, tmp_path):
    answer = unsculpt("apply", model, save(events, "a.npz"), "-o", tmp_path / "b.npz", "-q")
    assert (answer.exit_code, answer.output) == (0, "")


def test_jets_of_an_event(unsculpt, model, events, tmp_path):
    import awkward as ak
    import uproot

    counts = np.random.default_rng(0).multinomial(1000, np.ones(300) / 300)
    lists = {name: ak.unflatten(events[name].to_numpy(), counts) for name in ("tagger", "mass")}
    with uproot.recreate(tmp_path / "jets.root") as file:
        tree = file.mktree("Events", {"run": "int64", "Jet": ak.zip(lists).type.content})
        tree.extend({"run": np.arange(300), "Jet": ak.zip(lists)})
    columns = "--score", "Jet_tagger", "--protect", "Jet_mass"
    output = tmp_path / "flat.root"
    answer = unsculpt("apply", model, tmp_path / "jets.root", "-o", output, *columns)
    assert "Added Jet_tagger_flat to 300 rows with 1,000 scores" in answer.output
    tree = uproot.open(output)["Events"]
    assert tree.keys() == ["run", "nJet", "Jet_tagger", "Jet_mass", "Jet_tagger_flat"]
    np.testing.assert_array_equal(tree["nJet"].array(), counts)
    with pytest.warns(UserWarning, match="outside the fitted"):
        flat = us.load(model).transform(events["tagger"].to_numpy(), events["mass"].to_numpy())
    np.testing.assert_array_equal(ak.flatten(tree["Jet_tagger_flat"].array()), flat)


def test_nan_scores(unsculpt, model, events, save, tmp_path):
    score = events["tagger"].to_numpy().copy()
    score[:5] = np.nan
    path = save(events.set_column(0, "tagger", pa.array(score)), "a.parquet")
    answer = unsculpt("apply", model, path, "-o", tmp_path / "b.parquet")
    assert answer.exit_code == 1
    assert "tagger is NaN or infinite in 5 of 1,000 events" in answer.stderr
    answer = unsculpt("apply", model, path, "-o", tmp_path / "b.parquet", "--nan", "keep")
    assert "5 of 1,000 were NaN or infinite and stay NaN" in answer.output
    assert np.isnan(read(tmp_path / "b.parquet")["tagger_flat"].to_numpy()).sum() == 5


def test_a_model_for_other_columns(unsculpt, model, events, save, tmp_path):
    path = save(events.rename_columns({"tagger": "taggr"}), "a.parquet")
    answer = unsculpt("apply", model, path, "-o", tmp_path / "b.parquet")
    assert answer.exit_code == 1
    assert "the model takes tagger as score and mass as protected" in answer.stderr
    assert "did you mean 'taggr'?" in answer.stderr


def test_a_corrupt_model(unsculpt, model, events, save, tmp_path):
    broken = tmp_path / "broken.unsculpt"
    broken.write_bytes(model.read_bytes()[:-100])
    for command in (
        ["apply", broken, save(events, "a.csv"), "-o", tmp_path / "b.csv"],
        ["info", broken],
    ):
        answer = unsculpt(*command)
        assert answer.exit_code == 1
        assert "is not a whole unsculpt model file" in answer.stderr
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(("command", "output"), [("apply", "b.csv"), ("report", "b.html")])
def test_not_a_decorrelator(command, output, unsculpt, events, save, tmp_path, monkeypatch):
    monkeypatch.setattr(us, "load", lambda path: Model, raising=False)
    answer = unsculpt(command, "c.unsculpt", save(events, "a.csv"), "-o", tmp_path / output)
    assert answer.exit_code == 1
    assert "c.unsculpt is not a decorrelator but a" in answer.stderr


@pytest.mark.parametrize("name", ["b.root", "b.parquet", "b.arrow", "b.h5", "b.csv", "b.npz"])
def test_a_full_disk(name, unsculpt, model, events, save, tmp_path):
    path = save(events, "a.parquet")
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        answer = unsculpt("apply", model, path, "-o", tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert answer.exit_code == 1
    assert "File too large" in answer.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


KILL = "lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
MOMENTS = {
    "while writing": f"from pyarrow import parquet; parquet.ParquetWriter.write_table = {KILL}",
    "before the end": f"os.fsync = {KILL}",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_power_cut(moment, unsculpt, model, events, save, tmp_path):
    output = tmp_path / "out" / "b.parquet"
    output.parent.mkdir()
    arguments = ["apply", str(model), save(events, "a.parquet"), "-o", str(output)]
    code = f"import os, signal, sys; from unsculpt.cli import app; {MOMENTS[moment]}; app()"
    child = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True)
    assert child.returncode == -signal.SIGKILL
    assert not output.exists()
    assert unsculpt(*arguments).exit_code == 0
    assert len(read(output)) == 1000


def test_a_place_in_a_file(unsculpt, model, events, save, tmp_path):
    path = save(events, "a.parquet")
    assert unsculpt("apply", model, path, "-o", f"{tmp_path}/b.h5:jets/all").exit_code == 0
    assert len(read(f"{tmp_path}/b.h5:jets/all")) == 1000


def test_a_folder_that_is_read_only(unsculpt, model, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    for output in (tmp_path / "b.root", tmp_path, f"{tmp_path}/new/"):
        answer = unsculpt("apply", model, "a.root", "-o", output)
        assert answer.exit_code == 2
        assert "nothing can be written into" in answer.output


def test_wrong_arguments(unsculpt, model, tmp_path):
    answer = unsculpt("apply", model, "a.root", "-o", tmp_path / "missing" / "b.root")
    assert answer.exit_code == 2
    assert "--output" in answer.output
    answer = unsculpt("apply", model, "a.root", "-o", "root://host/b.root")
    assert answer.exit_code == 2
    assert "is a URL, which can only be read" in " ".join(answer.output.replace("│", "").split())
