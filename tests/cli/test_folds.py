"""`unsculpt fit --folds`: every event judged and transformed by a model that has not seen it."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unsculpt as us
from unsculpt import metrics
from unsculpt.cli.judging import decorrelated, judge, verdicts
from unsculpt.datasets import toys
from unsculpt.files import Sample, scan
from unsculpt.inputs import Columns

SAMPLES = ["--background", "label == 0", "--signal", "label == 1"]
COLUMNS = ["--score", "tagger", "--protect", "mass", *SAMPLES]
FOLDS = ["--method", "knn", "--folds", 3]


@pytest.fixture(scope="module")
def numbered(events):
    """The events with numbers that do not go up by one."""
    number = np.random.default_rng(0).permutation(5000)[:1000].astype(np.uint64)
    return events.append_column("event", pa.array(number + np.uint64(2**60)))


def read(path):
    return pa.concat_tables(scan(path).chunks())


def expected(table, number):
    """What the library gives."""
    score, mass, label = (table[name].to_numpy() for name in ("tagger", "mass", "label"))
    background = label == 0
    model = us.CrossFit(us.KNNDecorrelator(), folds=3)
    model.fit(score[background], mass[background], event=number[background])
    with pytest.warns(UserWarning, match=r"is outside the fitted .* in 1 of 1,000 events"):
        return model.transform(score, mass, event=number)


@pytest.mark.parametrize("ending", ["root", "parquet"])
def test_there_and_back(ending, unsculpt, numbered, save, tmp_path):
    path, output = save(numbered, f"a.{ending}"), tmp_path / "w.unsculpt"
    answer = unsculpt("fit", path, *COLUMNS, *FOLDS, "--fold-by", "event", "-o", output)
    assert answer.exit_code == 0, answer.output
    assert "on 800 background events in 3 folds by event in" in answer.output
    assert "On 800 background events in 3 folds, by models that have not" in answer.output
    flat = tmp_path / f"flat.{ending}"
    answer = unsculpt("apply", output, path, "-o", flat)
    assert "mass was outside the fitted range in 1 of 1,000" in answer.output
    table = read(flat)
    assert table.column_names == [*numbered.column_names, "tagger_flat"]
    want = expected(numbered, numbered["event"].to_numpy())
    np.testing.assert_array_equal(table["tagger_flat"], want)
    # The same events in another order.
    turned = save(numbered.take(np.arange(1000)[::-1]), f"b.{ending}")
    unsculpt("apply", output, turned, "-o", tmp_path / f"turned.{ending}")
    np.testing.assert_array_equal(read(tmp_path / f"turned.{ending}")["tagger_flat"], want[::-1])


def test_rows_are_numbered_in_each_file(unsculpt, events, save, tmp_path):
    """So that one of the files alone gets the same answers, and so do all in one."""
    parts = save(events[:301], "1.parquet"), save(events[301:], "2.parquet")
    output = tmp_path / "w.unsculpt"
    answer = unsculpt("fit", *parts, *COLUMNS, *FOLDS, "-o", output)
    assert "in 3 folds by row number" in answer.output
    want = expected(events, np.concatenate([np.arange(301), np.arange(699)]))
    unsculpt("apply", output, *parts, "-o", tmp_path / "all.parquet")
    np.testing.assert_array_equal(read(tmp_path / "all.parquet")["tagger_flat"], want)
    unsculpt("apply", output, parts[1], "-o", tmp_path / "one.parquet")
    np.testing.assert_array_equal(read(tmp_path / "one.parquet")["tagger_flat"], want[301:])
    assert "row number" not in read(tmp_path / "one.parquet").column_names


@pytest.mark.slow
def test_workers_number_the_rows_alike(unsculpt, events, save, tmp_path):
    parts = save(events[:301], "1.parquet"), save(events[301:], "2.parquet")
    models = tmp_path / "here.unsculpt", tmp_path / "there.unsculpt"
    for output, more in zip(models, ([], ["--workers", 2]), strict=True):
        answer = unsculpt("fit", *parts, *COLUMNS, *FOLDS, "-o", output, *more)
        assert answer.exit_code == 0, answer.output
    here, there = (model.read_bytes() for model in models)
    assert here == there


def test_answers_scripts_and_an_expression(unsculpt, numbered, save, tmp_path):
    path, output = save(numbered, "a.parquet"), tmp_path / "w.unsculpt"
    how = ["--fold-by", "event // 10", "--weight", "w", "-o", output, "--json"]
    answer = json.loads(unsculpt("fit", path, *COLUMNS, *FOLDS, *how).stdout)
    assert (answer["folds"], answer["method"]) == (3, "KNNDecorrelator")
    assert answer["columns"]["fold_by"] == "event // 10"
    assert answer["fitted_on"] == answer["held_out"] == answer["background"] == 800
    assert [row["state"] for row in answer["judged"]] == ["raw", "decorrelated"]


def test_splines_and_two_attributes_that_refuse_what_is_outside(unsculpt, numbered, save, tmp_path):
    """What only its own model has not seen is not outside."""
    background = numbered.filter(pa.compute.field("label") == 0)
    path, output = save(background, "a.parquet"), tmp_path / "w.unsculpt"
    how = ["--protect", "channel", "--outside", "raise", "--folds", 3, "--method", "spline"]
    answer = unsculpt("fit", path, *COLUMNS[:4], *how, "-o", output)
    assert answer.exit_code == 0, answer.output
    assert us.load(output).outside == "raise"
    answer = unsculpt("apply", output, path, "-o", tmp_path / "b.parquet")
    assert answer.exit_code == 0, answer.output


def test_folds_are_judged_one_by_one():
    """All together look too flat: what is high in one fold is low in the models of the others."""
    toy = toys.tagger(8000, 0, seed=1)
    model = us.CrossFit(us.KNNDecorrelator(0.5, neighbours=40), folds=5)
    model.source_ = {"score": ["tagger"]}
    label, number = np.zeros(8000, np.int8), np.arange(8000)
    mass = Columns(mass=toy.protected)
    sample = Sample(toy.score, mass, label, None, number, 8000, 0)
    model.fit(sample.scores, mass, event=number)
    flat = decorrelated(model, sample)
    together = metrics.flatness_test(flat >= 0, mass)
    assert together.chi2 < 0.5 * together.degrees
    (verdict,) = verdicts(model, sample, flat)
    assert verdict.test.statistics.chi2 > 0.9 * verdict.test.statistics.degrees
    assert set(verdict.test.statistics.worst) == {"CrossFit fold", "mass"}
    alone = [judge(model, replace(sample[k], event=None), flat[k]) for k in fifths(number)]
    raw, new = judge(model, sample, flat)
    each = [rows[1]["inverse_jsd"] for rows in alone]
    assert new["inverse_jsd"] == pytest.approx(np.mean(each))
    assert raw["rejection"] is None


def fifths(number):
    return [number % 5 == k for k in range(5)]


def test_info_and_export(unsculpt, numbered, save, tmp_path):
    path, output = save(numbered, "a.parquet"), tmp_path / "w.unsculpt"
    unsculpt("fit", path, *COLUMNS, *FOLDS, "--fold-by", "event", "-o", output)
    answer = unsculpt("info", output)
    for words in ("CrossFit of KNNDecorrelator", "3: event modulo 3", "outside: clip", "mass: 5"):
        assert words in answer.output
    assert unsculpt("info", output, "--json").exit_code == 0
    assert unsculpt("export", output, "-o", tmp_path / "w.onnx").exit_code == 0


def test_a_report_on_the_events_of_the_fit(unsculpt, numbered, save, tmp_path, monkeypatch):
    path, output = save(numbered, "a.parquet"), tmp_path / "w.unsculpt"
    unsculpt("fit", path, *COLUMNS, *FOLDS, "--fold-by", "event", "-o", output)
    seen = {}

    def write_report(*_, **options):
        seen.update(options)
        raise ValueError("enough")

    monkeypatch.setattr("unsculpt.report.write_report", write_report)
    assert "enough" in unsculpt("report", output, path, "-o", tmp_path / "w.html").stderr
    np.testing.assert_array_equal(seen["event"], numbered["event"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--fold-by", "evnt"], "there is no column 'evnt'; did you mean 'event'?"),
        (["--fold-by", "mass"], "mass is 61.5 and the like in"),
        (["--fold-by", "channel"], "channel is 'muon' in row 1 of"),
        (["--fold-by", "3 * event"], "fold 1 of 3 has 0 background events; expected at least 10"),
        (["--folds", 900], "scores has 800 events; a fit needs at least 10 of background in each"),
    ],
)
def test_mistakes_are_one_line(change, message, unsculpt, numbered, save, tmp_path):
    mass = np.where(np.arange(1000) == 0, 61.5, numbered["mass"].to_numpy())
    number = numbered["event"].to_numpy() - np.uint64(2**60)
    table = numbered.set_column(1, "mass", pa.array(mass)).drop_columns(["event"])
    path = save(table.append_column("event", pa.array(number)), "a.parquet")
    answer = unsculpt("fit", path, *COLUMNS, *FOLDS, *change, "-o", tmp_path / "w.unsculpt")
    assert answer.exit_code == 1
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "w.unsculpt").exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (["--folds", 1], "--folds"),
        (["--fold-by", "event"], "--fold-by"),
        (["--folds", 3, "--hold-out", 0.5], "--hold-out"),
    ],
)
def test_wrong_arguments(change, word, unsculpt, tmp_path):
    answer = unsculpt("fit", "a.root", *COLUMNS, *change, "-o", tmp_path / "w.unsculpt")
    assert answer.exit_code == 2
    assert word in answer.output


def test_files_without_event_numbers(unsculpt, numbered, save, tmp_path):
    path, output = save(numbered, "a.parquet"), tmp_path / "w.unsculpt"
    unsculpt("fit", path, *COLUMNS, *FOLDS, "--fold-by", "event", "-o", output)
    others = save(numbered.drop_columns(["event"]), "b.parquet")
    answer = unsculpt("apply", output, others, "-o", tmp_path / "flat.parquet")
    assert answer.exit_code == 1
    assert "tells the folds of events by event, which the files should have" in answer.stderr
    assert "there is no column 'event'" in answer.stderr
    assert not (tmp_path / "flat.parquet").exists()


def test_folds_that_a_model_does_not_know_are_asked_for(unsculpt, events, save, tmp_path):
    path, model = save(events, "a.parquet"), tmp_path / "m.unsculpt"
    score, mass = (events[name].to_numpy() for name in ("tagger", "mass"))
    number = np.arange(len(score))
    crossed = us.CrossFit(us.KNNDecorrelator(), folds=2).fit(score, mass)
    crossed.save(model)
    columns = "--score", "tagger", "--protect", "mass"
    for i, (options, expected) in enumerate(
        (((), {}), (("--fold-by", "row number"), {"event": number}))
    ):
        out = tmp_path / f"{i}.parquet"
        answer = unsculpt("apply", model, path, *columns, *options, "-o", out)
        assert ("does not know what tells the fold" in answer.output) == (not options)
        flat = pq.read_table(out)["tagger_flat"].to_numpy()
        np.testing.assert_array_equal(flat, crossed.transform(score, mass, **expected))
