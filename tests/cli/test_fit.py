import json
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unsculpt as us
from unsculpt.datasets import toys

SAMPLES = ["--background", "label == 0", "--signal", "label == 1"]
COLUMNS = ["--score", "tagger", "--protect", "mass", *SAMPLES]
COLUMNS += ["--method", "spline"]


def test_tells_what_it_read_fitted_and_found(unsculpt, events, save, tmp_path):
    save(events[:300], "1.root"), save(events[300:], "2.root")
    output = tmp_path / "w.unsculpt"
    answer = unsculpt("fit", tmp_path / "*.root", *COLUMNS, "--weight", "mass", "-o", output)
    assert answer.exit_code == 0
    assert "Read 1,000 rows of 2 files: 800 background, 200 signal." in answer.output
    assert "Fitted a SplineDecorrelator of tagger given mass on 6" in answer.output
    for word in ("R50", "1/JSD50", "ideal", "raw", "decorrelated", "held out", str(output)):
        assert word in answer.output
    model = us.load(output)
    assert model.source_ == {
        "score": ["tagger"],
        "protected": ["mass"],
        "background": "label == 0",
        "signal": "label == 1",
        "weight": "mass",
        "events": model.events_,
        "files": [str(tmp_path / "1.root"), str(tmp_path / "2.root")],
        "sizes": [(tmp_path / name).stat().st_size for name in ("1.root", "2.root")],
    }
    assert model.attributes_.names == ["mass"]


def test_the_model_is_that_of_the_library(unsculpt, events, save, tmp_path):
    path = save(events, "a.parquet")
    output = tmp_path / "w.unsculpt"
    settings = "--hold-out", 0, "--outside", "nan", "--weight", "mass"
    answer = unsculpt("fit", path, *COLUMNS, *settings, "-o", output, "--quiet")
    assert (answer.exit_code, answer.output) == (0, "")
    background = events.filter(pa.compute.field("label") == 0)
    score, mass = (background[name].to_numpy() for name in ("tagger", "mass"))
    spline = us.SplineDecorrelator(outside="nan").fit(score, mass, sample_weight=mass)
    loaded = us.load(output)
    assert loaded.transform(score, mass).tobytes() == spline.transform(score, mass).tobytes()
    assert loaded.get_params()["outside"] == "nan"


def test_blinded_events_are_not_looked_at(unsculpt, events, save, tmp_path):
    blind = *COLUMNS, "--blind", "70 < mass < 100", "-o"
    inside = (events["mass"].to_numpy() > 70) & (events["mass"].to_numpy() < 100)
    other = events.set_column(
        events.column_names.index("tagger"),
        "tagger",
        pa.array(np.where(inside, 0.5, events["tagger"].to_numpy())),
    )
    models = []
    for i, table in enumerate((events, other)):
        path, output = save(table, f"{i}.parquet"), tmp_path / f"{i}.unsculpt"
        answer = unsculpt("fit", path, *blind, output)
        assert answer.exit_code == 0
        assert "Events with 70 < mass < 100 were not looked at." in answer.output
        models.append(us.load(output))
    one, two = (model.transform([0.2, 0.5, 0.8], [85.0] * 3) for model in models)
    assert one.tobytes() == two.tobytes()
    assert np.all(np.diff(one) > 0)
    assert models[0].source_["blind"] == "70 < mass < 100"
    assert models[0].events_ < np.sum(~inside & (events["label"].to_numpy() == 0))


def test_a_window_that_holds_everything_is_refused(unsculpt, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, "--blind", "mass > 0", "-o", output)
    assert answer.exit_code == 1
    assert "outside of 'mass > 0'" in re.sub(r"\s+", " ", answer.output)
    assert not output.exists()


def test_a_window_that_holds_nothing_is_said_to_be_empty(unsculpt, events, save, tmp_path):
    """It may be in other units; then the fit is not blind."""
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, "--blind", "7e4 < mass < 1e5", "-o", output)
    assert answer.exit_code == 0
    assert "--blind '7e4 < mass < 1e5' holds for none of 1,000 rows" in answer.stderr
    answer = unsculpt("fit", path, *COLUMNS, "--blind", "70 < mass < 100", "-o", output)
    assert "holds for none" not in answer.stderr


def test_answers_scripts(unsculpt, events, save, tmp_path):
    path, output = save(events, "a.csv"), tmp_path / "w.unsculpt"
    answer = json.loads(unsculpt("fit", path, *COLUMNS, "-o", output, "--json").stdout)
    assert answer["fitted_on"] + answer["held_out"] == answer["background"] == 800
    assert (answer["rows"], answer["signal"], answer["dropped"]) == (1000, 200, 0)
    raw, flat = answer["judged"]
    assert (raw["state"], flat["state"]) == ("raw", "decorrelated")
    assert flat["inverse_jsd"] > 0
    assert flat["ideal"] > 0
    assert raw["rejection"] > 1


def test_expressions_categories_and_no_signal(unsculpt, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    answer = unsculpt(
        *("fit", path, "--score", "log(tagger)", "--protect", "mass / 1000"),
        *("--protect", "channel", "-o", output, "--method", "spline", "--json"),
    )
    answer = json.loads(answer.stdout)
    assert [row["protected"] for row in answer["judged"]] == ["mass / 1000"] * 2
    assert answer["judged"][0]["rejection"] is None
    assert us.load(output).categorical == ["channel"]


def test_without_signal_nothing_is_said_of_rejection(unsculpt, events, save, tmp_path):
    path = save(events, "a.parquet")
    score = "--score", "tagger", "--protect", "mass", "--method", "ddt"
    answer = unsculpt("fit", path, *score, "-o", tmp_path / "w.unsculpt")
    assert "cut at half of the background. 1/JSD50:" in " ".join(answer.output.split())
    assert "R50" not in answer.output


@pytest.mark.parametrize("method", ["flow", "knn", "ddt"])
def test_other_methods(method, unsculpt, events, save, tmp_path, monkeypatch):
    defaults = us.FlowDecorrelator.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "epochs", 1)
    monkeypatch.setitem(defaults, "members", 1)
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, "--method", method, "-o", output, "--seed", 3)
    assert answer.exit_code == 0
    model = us.load(output)
    assert model.source_["score"] == ["tagger"]
    assert model.get_params().get("seed", 3) == 3
    assert unsculpt("info", output).exit_code == 0
    answer = unsculpt("apply", output, path, "-o", tmp_path / "b.parquet")
    assert "Added tagger_flat to 1,000 rows" in answer.output


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A file with enough events for a verdict."""
    toy, path = toys.tagger(8_000, 500, seed=1), tmp_path_factory.mktemp("many") / "a.parquet"
    columns = {"tagger": toy.score, "mass": toy.protected, "label": toy.label.astype("i4")}
    pq.write_table(pa.table(columns), path)
    return path


def test_splines_unless_told_otherwise_and_a_verdict(unsculpt, many, tmp_path):
    answer = unsculpt("fit", many, *COLUMNS[:-2], "--hold-out", 0.5, "-o", tmp_path / "w.unsculpt")
    assert "Fitted a SplineDecorrelator" in answer.output
    verdict = r"tagger is flat within the statistics of [34],\d+ events \(χ² [\d.]+ for \d+, p = 0"
    assert re.search(verdict, answer.output)


def test_a_verdict_to_act_on(unsculpt, many, tmp_path):
    how = [*COLUMNS, "--method", "ddt", "--hold-out", 0.5, "-o", tmp_path / "w.unsculpt"]
    answer = unsculpt("fit", many, *how)
    assert re.search(r"tagger is not flat: χ² .* worst at mass \d.*errors\.", answer.output)
    assert "straight shift of the score is enough: --method spline." in answer.output
    assert "More background" not in answer.output
    (found,) = json.loads(unsculpt("fit", many, *how, "--json").stdout)["flatness"]
    assert found["score"] == "tagger"
    assert found["p_value"] < 0.01
    low, high = found["worst"]["mass"]
    assert low < high


def test_neighbours_are_judged_at_the_cut_they_know(unsculpt, many, tmp_path):
    how = ["--method", "knn", "--set", "efficiency=0.1", "--hold-out", 0.5]
    answer = unsculpt("fit", many, *COLUMNS, *how, "-o", tmp_path / "w.unsculpt", "--json")
    (found,) = json.loads(answer.stdout)["flatness"]
    assert found["p_value"] > 1e-4  # at half of the signal it is below 1e-9
    answer = unsculpt("fit", many, *COLUMNS, *how, "-o", tmp_path / "w.unsculpt")
    assert "tagger cut at 0 is " in answer.output


def test_more_attributes_than_splines_take_get_a_flow(
    unsculpt, events, save, tmp_path, monkeypatch
):
    defaults = us.FlowDecorrelator.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "epochs", 1)
    monkeypatch.setitem(defaults, "members", 1)
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    more = ["--protect", "w + tagger", "--protect", "w - mass"]
    answer = unsculpt("fit", path, *COLUMNS[:-2], *more, "-o", output)
    assert answer.exit_code == 0, answer.output
    assert isinstance(us.load(output), us.FlowDecorrelator)
    answer = unsculpt("fit", path, *COLUMNS, *more, "-o", output)
    assert "protected has 3 columns; a SplineDecorrelator takes one or two" in answer.stderr


def test_several_scores(unsculpt, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, "--score", "tagger ** 2", "-o", output)
    assert answer.exit_code == 0
    assert len(us.load(output).cdfs_) == 2
    assert "tagger ** 2" in answer.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--background", "lable == 0"], "no column 'lable'; did you mean 'label'?"),
        (["--background", "label == 7"], "no background is left of 1,000 rows"),
        (["--signal", "label == 7"], "no signal is left of 1,000 rows: 'label == 7' holds for"),
        (["--blind", "mass > 0"], "no background is left of 1,000 rows"),
        (["--folds", "100"], "at least 10 of background in each of the 100 folds"),
        (["--protect", "pt"], "there is no column 'pt'"),
        (["--protect", "mass"], "--score and --protect name mass 2 times; expected each"),
        (["--protect", "tagger"], "--score and --protect name tagger 2 times"),
        (["--weight", "-1"], "sums to -"),
        (["--background", "label =="], "this is no column and no expression"),
    ],
)
def test_mistakes_are_one_line(change, message, unsculpt, events, save, tmp_path):
    path = save(events, "a.parquet")
    answer = unsculpt("fit", path, *COLUMNS, *change, "-o", tmp_path / "w.unsculpt")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("Error: ")
    assert answer.stderr.count("\n") == 1
    assert message in answer.stderr
    assert not (tmp_path / "w.unsculpt").exists()


def test_nan_scores(unsculpt, events, save, tmp_path):
    score = events["tagger"].to_numpy().copy()
    score[:5] = np.nan
    path = save(events.set_column(0, "tagger", pa.array(score)), "a.parquet")
    output = tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, "-o", output)
    assert answer.exit_code == 1
    assert "tagger is NaN or infinite in 5 of 1,000 events" in answer.stderr
    answer = unsculpt("fit", path, *COLUMNS, "-o", output, "--nan", "drop")
    assert answer.exit_code == 0
    assert "5 dropped as NaN or infinite" in answer.output


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["a.root"], "--score"),
        (["a.root", "--protect", "mass", "-o", "x"], "--score"),
        (["a.root", *COLUMNS, "-o", "missing/x"], "--output"),
        (["a.root", *COLUMNS, "-o", "."], "--output"),
        (["a.root", *COLUMNS, "-o", "x", "--method", "magic"], "--method"),
        (["a.root", *COLUMNS, "-o", "x", "--hold-out", "2"], "--hold-out"),
    ],
)
def test_wrong_arguments(arguments, word, unsculpt):
    answer = unsculpt("fit", *arguments)
    assert answer.exit_code == 2
    assert word in answer.output


def test_missing_file(unsculpt, tmp_path):
    answer = unsculpt("fit", tmp_path / "a.root", *COLUMNS, "-o", tmp_path / "w.unsculpt")
    assert answer.exit_code == 1
    assert "there is no file" in answer.stderr


def test_a_power_cut_leaves_nothing_and_a_second_run_succeeds(unsculpt, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "out" / "w.unsculpt"
    output.parent.mkdir()
    arguments = ["fit", path, *COLUMNS, "-o", str(output)]
    # At the worst moment: everything is written, but not yet safe.
    code = (
        "import os, signal, sys; from unsculpt.cli import app;"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL); app()"
    )
    child = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True)
    assert child.returncode == -signal.SIGKILL
    assert not output.exists()
    assert unsculpt(*arguments).exit_code == 0
    assert us.load(output).source_["score"] == ["tagger"]


def test_help_and_wrong_arguments_do_not_wait_for_jax():
    code = f"""
import sys
from unsculpt.cli import app
for arguments in (["fit", "--help"], ["apply", "x"], ["fit", "missing.root", *{COLUMNS}, "-ox"]):
    try:
        app(arguments)
    except SystemExit as stop:
        print(stop.code, "jax" in sys.modules, file=sys.stderr)
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    ends = [line for line in child.stderr.splitlines() if line.endswith(("True", "False"))]
    assert ends == ["0 False", "2 False", "1 False"]
