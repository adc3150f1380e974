"""Selections, samples by file, categories and parameters, from the command line."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uproot

import unsculpt as us

COLUMNS = "--score", "tagger", "--protect", "mass"
SAMPLES = "--background", "label == 0", "--signal", "label == 1"


def test_a_selection_is_remembered_and_held_to(unsculpt, events, save, tmp_path):
    path, model, output = save(events, "a.parquet"), tmp_path / "w.unsculpt", tmp_path / "b.parquet"
    unsculpt("fit", path, *COLUMNS, *SAMPLES, "--selection", "mass > 90", "-o", model)
    assert us.load(model).source_["selection"] == "mass > 90"
    settings = "--selected-only", "--outside", "nan", "--json"
    answer = json.loads(unsculpt("apply", model, path, "-o", output, *settings).stdout)
    heavy = events["mass"].to_numpy() > 90
    assert answer["unselected"] == np.sum(~heavy)
    flat = pq.read_table(output)["tagger_flat"].to_numpy()
    assert np.sum(np.isnan(flat)) == np.sum(~heavy) + sum(answer["outside"].values())
    assert answer["outside"]["mass"] >= 1  # the last event is heavier than all


def test_without_signal_there_is_none(unsculpt, events, save, tmp_path):
    arguments = "fit", save(events, "a.parquet"), *COLUMNS, "-o", tmp_path / "w.unsculpt", "--json"
    answer = json.loads(unsculpt(*arguments, "--background", "label == 0 and mass > 90").stdout)
    assert answer["signal"] == 0
    assert answer["background"] + answer["others"] == 1000


def test_warns_where_background_has_the_higher_score(unsculpt, events, save, tmp_path):
    turned = "--background", "label == 1", "--signal", "label == 0"
    path = save(events, "a.parquet")
    answer = unsculpt("fit", path, *COLUMNS, *turned, "-o", tmp_path / "w.unsculpt")
    assert "Warning: signal has a lower tagger than background, AUC 0." in answer.stderr


def test_samples_by_file(unsculpt, events, save, tmp_path):
    label = events["label"].to_numpy()
    save(events.filter(label == 0), "qcd.root"), save(events.filter(label == 1), "w.root")
    files = "--background-files", tmp_path / "q*.root", "--signal-files", tmp_path / "w.root"
    model = tmp_path / "w.unsculpt"
    answer = unsculpt("fit", *COLUMNS, *files, "-o", model)
    assert "2 files: 800 background, 200 signal." in answer.output
    answer = unsculpt("report", model, tmp_path / "qcd.root", "-o", tmp_path / "r.html")
    assert "the fit knew background by its files; say which they are here" in answer.stderr


def test_numbers_may_be_categories(unsculpt, events, save, tmp_path):
    table = events.append_column("year", pa.array(np.arange(1000) % 3 + 2016))
    arguments = "fit", save(table, "a.parquet"), *COLUMNS, "--protect", "year", *SAMPLES
    model = tmp_path / "w.unsculpt"
    answer = unsculpt(*arguments, "-o", model)
    assert "Note: year has the values 2016, 2017, 2018 alone" in answer.stderr
    answer = unsculpt(*arguments, "--categorical", "year", "-o", model)
    assert "Note" not in answer.stderr
    assert us.load(model).attributes_.attributes[1].values == [2016, 2017, 2018]
    answer = unsculpt(*arguments, "--categorical", "run", "-o", model)
    assert "--categorical run is not protected; expected one of mass, year" in answer.stderr
    answer = unsculpt("apply", model, tmp_path / "a.parquet", "--protect", "mass", "-o", "x.csv")
    assert "the model takes 2 as protected, mass, year, but mass is named" in answer.stderr


def test_parameters_of_the_method(unsculpt, events, save, tmp_path):
    model = tmp_path / "w.unsculpt"
    knn = "fit", save(events, "a.parquet"), *COLUMNS, *SAMPLES, "--method", "knn", "-o", model
    assert unsculpt(*knn, "--set", "efficiency=0.2", "--set", "neighbours=50").exit_code == 0
    assert us.load(model).get_params()["efficiency"] == 0.2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("neighbour=3", "no parameter 'neighbour'; it has efficiency, neighbours"),
        ("efficiency=high", "efficiency is 'high'; expected a number"),
        ("neighbours=2.5", "neighbours is 2.5; expected a whole number or None"),
        ("efficiency", "should be NAME=VALUE"),
        ("outside=nan", "there is an option --outside"),
    ],
)
def test_parameters_are_checked(setting, message, unsculpt, events, save, tmp_path):
    knn = "fit", save(events, "a.parquet"), *COLUMNS, "--method", "knn", "-o", tmp_path / "w"
    assert message in unsculpt(*knn, "--set", setting).stderr


def test_the_name_of_an_expression(unsculpt, save, tmp_path):
    rng = np.random.default_rng(1)
    jets = pa.table(
        {
            "nJet": np.full(200, 2, np.int32),
            "Jet_btag": list(rng.uniform(size=(200, 2))),
            "Jet_mass": list(rng.uniform(50, 100, size=(200, 2))),
        }
    )
    path, model = save(jets, "a.root"), tmp_path / "w.unsculpt"
    score = "--score", "log(Jet_btag / (1 - Jet_btag))", "--protect", "Jet_mass"
    assert unsculpt("fit", path, *score, "-o", model).exit_code == 0
    answer = unsculpt("apply", model, path, "-o", tmp_path / "b.root", "--json")
    assert json.loads(answer.stdout)["columns"] == ["Jet_log_btag_1_btag_flat"]

    with uproot.open(f"{tmp_path}/b.root:Events") as tree:
        assert set(tree.keys()) == {*jets.column_names, "Jet_log_btag_1_btag_flat"}


def test_version(unsculpt):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert unsculpt("--version").output == f"unsculpt {project['version']}\n"


@pytest.mark.parametrize("option", ["--selection", "--background", "--weight", "--blind"])
def test_an_expression_of_nothing(option, unsculpt, events, save, tmp_path):
    """As of a shell variable that is not set: all events would be taken."""
    what = "--score", "tagger", "--protect", "mass", "-o", tmp_path / "w.unsculpt"
    answer = unsculpt("fit", save(events, "a.parquet"), *what, option, "")
    assert answer.exit_code == 2
    assert "is empty" in answer.output
    assert not (tmp_path / "w.unsculpt").exists()
