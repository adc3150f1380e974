import json
import re
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import toys
from unsculpt.plots.axis import Axis
from unsculpt.report.pictures import pictures

SAMPLES = "--background", "label == 0", "--signal", "label == 1"


@pytest.fixture
def two_pictures(monkeypatch):
    """To write each takes a second, and tests/report looks at all."""

    def some(*events):
        return [picture for picture in pictures(*events) if picture.slug in ("spectrum", "cut")]

    monkeypatch.setattr("unsculpt.report.write.pictures", some)


def test_writes_a_report_and_its_figures(unsculpt, model, events, save, tmp_path, two_pictures):
    save(events[:300], "1.root"), save(events[300:], "2.root")
    output = tmp_path / "w.html"
    answer = unsculpt("report", model, tmp_path / "*.root", "-o", output)
    assert answer.exit_code == 0
    assert "Wrote a report on 1,000 events" in answer.output
    assert answer.output.endswith(f"Open the report: {output}\n")
    page = output.read_text()
    for text in ("<h1>tagger decorrelated from mass</h1>", "1.root", "SplineDecorrelator"):
        assert text in page
    assert "mass is outside the fitted" in page
    names = {file.name for file in (tmp_path / "w-figures").iterdir()}
    assert names == {"spectrum.pdf", "spectrum.png", "cut.pdf", "cut.png"}


def test_it_is_html(unsculpt, model, tmp_path):
    answer = unsculpt("report", model, tmp_path / "a.root", "-o", tmp_path / "r.txt")
    assert answer.exit_code == 2
    assert "should end in .html" in " ".join(answer.output.replace("│", "").split())


def test_figures_go_into_a_folder(unsculpt, model, tmp_path):
    (tmp_path / "r-figures").touch()
    for options in ([], ["--figures", tmp_path / "no" / "figures"]):
        answer = unsculpt("report", model, "a.root", "-o", tmp_path / "r.html", *options)
        assert answer.exit_code == 2
        assert "--figures" in answer.output


@pytest.fixture
def no_pictures(monkeypatch):
    """Saves the time they take where nobody looks at them."""
    monkeypatch.setattr("unsculpt.report.write.pictures", lambda *events: [])


def test_answers_scripts_with_the_metrics(unsculpt, model, events, save, tmp_path, no_pictures):
    path, output = save(events, "a.parquet"), tmp_path / "w.html"
    settings = "--weight", "w", "--figures", tmp_path / "f", "-o", output
    answer = unsculpt("report", model, path, *settings, "--json")
    raw, flat = json.loads(answer.stdout)["numbers"]
    score, mass, label, weight = (
        events[name].to_numpy() for name in ("tagger", "mass", "label", "w")
    )
    assert raw["R50"]["value"] == pytest.approx(
        metrics.rejection(score, label, sample_weight=weight)
    )
    with pytest.warns(UserWarning, match="mass is outside"):
        decorrelated = us.load(model).transform(score, events.select(["mass"]).to_pandas())
    edges = Axis.from_events(mass, label, 50, "mass").edges
    expected = metrics.inverse_jsd(decorrelated, label, mass, bins=edges, sample_weight=weight)
    assert flat["1/JSD50"]["value"] == pytest.approx(expected)
    assert (tmp_path / "f").is_dir()


def test_other_names_and_expressions(unsculpt, model, events, save, tmp_path, no_pictures):
    renamed = events.rename_columns(["logit", "m", "kind", "w", "channel"])
    path, output = save(renamed, "a.parquet"), tmp_path / "w.html"
    options = "--score", "logit", "--protect", "m * 1.0", "--background", "kind == 0"
    answer = unsculpt("report", model, path, *options, "-o", output, "--quiet")
    assert (answer.exit_code, answer.output) == (0, "")
    assert "<h1>logit decorrelated from m * 1.0</h1>" in output.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score", "tager"], "tagger"),
        (["--protect", "mass", "--protect", "w"], "the model protects mass"),
        (["--signal", "label == 5"], "no signal is left of 1,000 rows: 'label == 5' holds"),
        (["--background", "label == 5"], "no background is left"),
        (["--weight", "0 * mass"], "sums to 0 over 800 events; expected a positive total"),
        (["--bins", "1"], "has one bin, which holds everything"),
        (["--bins", "900,950,1000"], "hold none of the 800 background events"),
        (["--label", "pt=p_T"], "expected COLUMN=TEXT with one of tagger, mass"),
    ],
)
def test_explains_what_is_wrong(unsculpt, model, events, save, tmp_path, options, message):
    path, output = save(events, "a.parquet"), tmp_path / "w.html"
    answer = unsculpt("report", model, path, *options, "-o", output)
    assert answer.exit_code == 1
    assert message in answer.stderr
    assert not output.exists()
    assert not (tmp_path / "w-figures").exists()


def test_titles_labels_and_bins(unsculpt, model, events, save, tmp_path, no_pictures):
    path, output = save(events, "a.parquet"), tmp_path / "w.html"
    words = "--title", "W tagger <3>", "--label", "mass=m_J [GeV]", "--label", "tagger=DNN"
    answer = unsculpt("report", model, path, "-o", output, *words, "--bins", "50,80,120")
    assert answer.exit_code == 0
    page = output.read_text()
    assert "<h1>W tagger &lt;3&gt;</h1>" in page
    assert "spectrum of m_J [GeV]" in page
    assert '"edges": [50, 80, 120]' in page
    answer = unsculpt("report", model, path, "-o", output, "--bins", "few")
    assert answer.exit_code == 2
    assert "neither a number of bins nor edges" in answer.stderr


def test_a_control_region_has_no_signal(unsculpt, model, events, save, tmp_path, no_pictures):
    path, output = save(events, "a.parquet"), tmp_path / "w.html"
    settings = "--background", "label < 2", "--require-flat", 1e-9, "--json", "-o", output
    answer = unsculpt("report", model, path, *settings)
    assert answer.exit_code == 0
    flat = json.loads(answer.stdout)["numbers"][1]
    assert flat.keys() == {"score", "1/JSD50", "ideal 1/JSD50", "flatness"}
    assert "Note: there is no signal among these events." in output.read_text()


def test_a_control_region_in_data_has_neither_labels_nor_weights(
    unsculpt, events, save, tmp_path, no_pictures
):
    fitted = save(events.filter(pa.compute.field("label") == 0), "mc.parquet")
    model = tmp_path / "weighted.unsculpt"
    columns = ["--score", "tagger", "--protect", "mass", "--weight", "w"]
    unsculpt("fit", fitted, *columns, "--background", "label == 0", "-o", model)
    data = save(events.drop_columns(["label", "w"]), "data.parquet")
    report = ["report", model, "-o", tmp_path / "r.html", "-q"]
    for given, hint in (
        ([data], "'label'.*background of the fit; .*--background-files"),
        (["--background-files", data], "'w'.*weight of the fit; .*--weight 1"),
    ):
        answer = unsculpt(*report, *given)
        assert answer.exit_code == 1
        assert re.search(hint, answer.stderr)
        assert not (tmp_path / "r.html").exists()
    answer = unsculpt(*report, "--background-files", data, "--weight", "1")
    assert answer.exit_code == 0, answer.stderr
    assert "1,000 background (sum of weights 1,000)" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("moved", [False, True])
def test_warns_of_the_events_of_the_fit(
    unsculpt, events, save, tmp_path, monkeypatch, no_pictures, moved
):
    monkeypatch.chdir(tmp_path)
    save(events, "a.parquet")
    fitted = "--score", "tagger", "--protect", "mass", *SAMPLES
    assert unsculpt("fit", "a.parquet", *fitted, "-o", "w.unsculpt").exit_code == 0
    if moved:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "a.parquet").rename(tmp_path / "elsewhere" / "a.parquet")
        monkeypatch.chdir(tmp_path / "elsewhere")
    answer = unsculpt("report", tmp_path / "w.unsculpt", "a.parquet", "-o", "w.html")
    assert "Warning: the model was fitted on a.parquet; on the events of its fit" in answer.stderr
    page = (tmp_path / "elsewhere" if moved else tmp_path) / "w.html"
    assert "looks flatter than on others" in page.read_text()
    save(events[:500], "b.parquet")
    answer = unsculpt("report", tmp_path / "w.unsculpt", tmp_path / "b.parquet", "-o", "w.html")
    assert "Warning" not in answer.stderr


def test_a_model_of_arrays_asks_for_the_columns(unsculpt, events, save, tmp_path):
    path, model = save(events, "a.parquet"), tmp_path / "arrays.unsculpt"
    spline = us.SplineDecorrelator()
    spline.fit(events["tagger"].to_numpy(), events["mass"].to_numpy()).save(model)
    answer = unsculpt("report", model, path, "-o", tmp_path / "w.html")
    assert answer.exit_code == 1
    assert "name them with --score and --protect" in answer.stderr


def test_a_power_cut_leaves_no_report(model, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "out" / "w.html"
    output.parent.mkdir()
    # At the worst moment: everything is written, but not yet safe.
    code = (
        "import os, signal, sys; from unsculpt.cli import app; import unsculpt.report.write as w;"
        "w.pictures = lambda *events: [];"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL); app()"
    )
    arguments = ["report", str(model), path, "-o", str(output)]
    child = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True)
    assert child.returncode == -signal.SIGKILL
    assert not output.exists()


def test_a_pipeline_can_require_flatness(unsculpt, tmp_path, monkeypatch):
    monkeypatch.setattr("unsculpt.report.write.pictures", lambda *events: [])
    train, toy = toys.tagger(6_000, 0, seed=1), toys.tagger(3_000, 500, seed=2)
    columns = {"tagger": toy.score, "mass": toy.protected, "label": toy.label.astype("i4")}
    pq.write_table(pa.table(columns), tmp_path / "many.parquet")
    source = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}
    source["signal"] = "label == 1"

    def report(model, *options):
        model.source_ = source
        model.save(tmp_path / "w.unsculpt")
        files = tmp_path / "w.unsculpt", tmp_path / "many.parquet"
        output = tmp_path / "r.html"
        return unsculpt("report", *files, "-o", output, "--require-flat", 0.001, *options)

    spline = us.SplineDecorrelator().fit(train.score, train.protected)
    answer = report(spline)
    assert answer.exit_code == 0
    assert "The decorrelated score is flat within the statistics of 3,000" in answer.output
    page = (tmp_path / "r.html").read_text()
    assert "Is it flat?" in page
    assert "flat within the statistics of 3,000 events" in page

    ddt = us.DDTDecorrelator().fit(train.score, train.protected)
    answer = report(ddt, "--json")
    assert answer.exit_code == 1
    assert "not flat by --require-flat 0.001: p " in answer.stderr
    assert json.loads(answer.stdout)["numbers"][1]["flatness"]["p_value"] < 0.001
    assert (tmp_path / "r.html").exists()

    # Neighbours are flat at their own cut alone, as the verdict of `unsculpt fit` has it.
    knn = us.KNNDecorrelator(efficiency=0.3).fit(train.score, train.protected)
    answer = report(knn)
    assert answer.exit_code == 0
    assert "The decorrelated score cut at 0 is flat" in answer.output
    page = (tmp_path / "r.html").read_text()
    assert "Cut at 0, the one cut that its model is for, the decorrelated score is" in page
    assert "At 50% signal efficiency the raw score is" in page


def test_a_blinded_window_stays_closed(unsculpt, events, save, tmp_path, two_pictures):
    path, model = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    columns = "--score", "tagger", "--protect", "mass", *SAMPLES
    unsculpt("fit", path, *columns, "--blind", "70 < mass < 100", "-o", model)
    mass = events["mass"].to_numpy()
    outside = int(((mass <= 70) | (mass >= 100)).sum())
    answer = unsculpt("report", model, path, "-o", tmp_path / "r.html")
    assert answer.exit_code == 0
    assert f"Wrote a report on {outside:,} events" in answer.output
    assert "are left out, as the fit was blinded" in answer.output


@pytest.mark.slow
def test_a_blinded_window_is_opened_on_request(unsculpt, events, save, tmp_path):
    path, model = save(events, "a.parquet"), tmp_path / "w.unsculpt"
    columns = "--score", "tagger", "--protect", "mass", *SAMPLES
    unsculpt("fit", path, *columns, "--blind", "70 < mass < 100", "-o", model)
    answer = unsculpt("report", model, path, "--unblind", "-o", tmp_path / "r.html")
    assert "Wrote a report on 1,000 events" in answer.output
    assert "left out" not in answer.output


def test_another_model_beside(unsculpt, model, events, save, tmp_path, no_pictures):
    path, output, other = save(events, "a.parquet"), tmp_path / "r.html", tmp_path / "knn.unsculpt"
    background = events.filter(pa.compute.field("label") == 0)
    knn = us.KNNDecorrelator()
    knn.fit(background["tagger"].to_numpy(), background.select(["mass"]).to_pandas())
    knn.source_ = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}
    knn.save(other)
    answer = unsculpt("report", model, path, "--with", other, "-o", output, "--json")
    assert answer.exit_code == 0
    names = [row["score"] for row in json.loads(answer.stdout)["numbers"]]
    assert names == ["raw score", "w score", "knn score"]

    knn.source_ = knn.source_ | {"score": ["other"]}
    knn.save(other)
    answer = unsculpt("report", model, path, "--with", other, "-o", tmp_path / "no.html")
    assert answer.exit_code == 1
    assert "its score is other, that of" in answer.stderr
    assert not (tmp_path / "no.html").exists()


def test_data_beside_simulation(unsculpt, model, events, save, tmp_path, no_pictures):
    simulation = save(events, "a.parquet")
    data = save(events.drop_columns(["label", "w"]), "data.parquet")
    settings = "--data", data, "--weight", "w", "-o"
    answer = unsculpt("report", model, simulation, *settings, tmp_path / "r.html")
    assert answer.exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Data and simulation: efficiency against mass" in page
    assert str(data) in page
    other = tmp_path / "other.html"
    answer = unsculpt("report", model, simulation, *settings, other, "--data", "no")
    assert answer.exit_code == 1
    assert not other.exists()
