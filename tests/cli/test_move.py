"""`--to` and `--amount` of `unsculpt apply` and `unsculpt export`."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import unsculpt as us
from unsculpt.files import scan


def column(path, name):
    return pa.concat_tables(scan(str(path)).chunks())[name].to_numpy()


@pytest.fixture(scope="session")
def inside(events):
    """All events but the one beyond the fit."""
    return events[:-1]


@pytest.fixture(scope="session")
def channels(events, tmp_path_factory):
    """A model of a category, the channel."""
    spline = us.SplineDecorrelator(categorical=["channel"])
    spline.fit(events["tagger"].to_numpy(), events.select(["channel"]).to_pandas())
    spline.source_ = {"score": ["tagger"], "protected": ["channel"]}
    path = tmp_path_factory.mktemp("model") / "channels.unsculpt"
    spline.save(path)
    return path


@pytest.mark.parametrize(
    ("options", "to", "amount"),
    [
        (["--to", "125", "--amount", "0.7"], 125.0, 0.7),
        (["--to", "mass=125"], {"mass": 125.0}, 1.0),
        (["--to", "barycentre", "--amount", "0"], "barycentre", 0.0),
    ],
)
def test_apply_is_what_python_gives(options, to, amount, unsculpt, model, inside, save, tmp_path):
    output = tmp_path / "moved.parquet"
    answer = unsculpt("apply", model, save(inside, "a.parquet"), "-o", output, *options)
    assert "Added tagger_moved to 999 rows" in answer.output
    given = inside["tagger"].to_numpy(), inside["mass"].to_numpy()
    want = us.load(model).move(*given, to=to, amount=amount)
    np.testing.assert_array_equal(column(output, "tagger_moved"), want)


def test_apply_to_another_sample(unsculpt, channels, events, save, tmp_path):
    output = tmp_path / "moved.csv"
    path = save(events, "a.parquet")
    answer = unsculpt("apply", channels, path, "-o", output, "--to", "channel=muon")
    assert answer.exit_code == 0
    given = events["tagger"].to_numpy(), events.select(["channel"]).to_pandas()
    want = us.load(channels).move(*given, to={"channel": "muon"})
    np.testing.assert_allclose(column(output, "tagger_moved"), want, rtol=1e-12)


def test_names_and_variations(unsculpt, model, inside, save, tmp_path):
    output = tmp_path / "moved.npz"
    options = ["--to", "125", "--variations", "1", "--name", "at_125", "--quiet"]
    unsculpt("apply", model, save(inside, "a.npz"), "-o", output, *options)
    ((up, _),) = us.load(model).variations(1)
    want = up.move(inside["tagger"].to_numpy(), inside["mass"].to_numpy(), to=125)
    np.testing.assert_allclose(column(output, "at_125_up_1"), want, rtol=1e-12)


def test_folds(unsculpt, inside, save, tmp_path):
    given = inside["tagger"].to_numpy(), inside.select(["mass"]).to_pandas()
    folds = us.CrossFit(us.SplineDecorrelator(), folds=2).fit(*given)
    folds.source_ = {"score": ["tagger"], "protected": ["mass"], "fold_by": "label"}
    folds.save(tmp_path / "folds.unsculpt")
    path, output = save(inside, "a.npz"), tmp_path / "moved.npz"
    unsculpt("apply", tmp_path / "folds.unsculpt", path, "-o", output, "--to", "125")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = folds.move(*given, to=125, event=inside["label"].to_numpy())
    np.testing.assert_allclose(column(output, "tagger_moved"), want, rtol=1e-12)


def test_a_reference_beyond_the_fit_follows_outside(unsculpt, model, inside, save, tmp_path):
    path, output = save(inside, "a.parquet"), tmp_path / "b.parquet"
    run = ["apply", model, path, "-o", output, "--to", "900"]
    with pytest.warns(UserWarning, match="to has mass 900.0, outside .* stands in") as notes:
        assert unsculpt(*run).exit_code == 0
    assert len(notes) == 1
    with pytest.warns(UserWarning, match="all scores become NaN"):
        unsculpt(*run, "--outside", "nan")
    assert np.isnan(column(output, "tagger_moved")).all()
    before = output.read_bytes()
    answer = unsculpt(*run, "--outside", "raise")
    assert (answer.exit_code, output.read_bytes() == before) == (1, True)
    assert "to has mass 900.0, outside the fitted" in answer.stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--to", "pt=5"], 1, "to names 'pt'; the protected attributes are ['mass']"),
        (["--to", "light"], 1, "mass 'light'; expected a number, or to='barycentre'"),
        (["--to", "125", "--amount", "1.5"], 2, "less than or equal to 1"),
        (["--to", "125", "--amount", "nan"], 2, "less than or equal to 1"),
        (["--amount", "0.5"], 2, "expected --to as well"),
        (["--to", "125", "--to", "pt=5"], 2, "expected one NAME=VALUE for each attribute"),
        (["--to", "mass=1", "--to", "mass=5"], 2, "expected one NAME=VALUE for each attribute"),
    ],
)
@pytest.mark.parametrize("command", ["apply", "export"])
def test_bad_input(command, options, code, words, unsculpt, model, inside, save, tmp_path):
    files = [save(inside, "a.parquet")] if command == "apply" else []
    output = tmp_path / ("b.parquet" if command == "apply" else "b.json")
    answer = unsculpt(command, model, *files, "-o", output, *options)
    assert answer.exit_code == code
    assert words in " ".join(answer.stderr.replace("│", " ").split())
    assert "a.parquet" not in answer.stderr  # the mistake is in no file
    assert not output.exists()


def test_an_unknown_category(unsculpt, channels, events, save, tmp_path):
    path, output = save(events, "a.parquet"), tmp_path / "b.parquet"
    answer = unsculpt("apply", channels, path, "-o", output, "--to", "channel=tau")
    assert answer.exit_code == 1
    assert "to has channel 'tau', outside the fitted ['electron', 'muon']" in answer.stderr


def test_methods_that_know_too_little(unsculpt, model, inside, save, tmp_path):
    given = inside["tagger"].to_numpy(), inside["mass"].to_numpy()
    us.KNNDecorrelator().fit(*given).save(tmp_path / "knn.unsculpt")
    us.Moved(us.load(model), to=100.0).save(tmp_path / "moved.unsculpt")
    for name, words in (
        ("knn", "a KNNDecorrelator does not know the whole distribution"),
        ("moved", "is a Moved already, to {'mass': 100.0}"),
    ):
        for run in (
            ["apply", tmp_path / f"{name}.unsculpt", save(inside, "a.csv"), "-o", "b.csv"],
            ["export", tmp_path / f"{name}.unsculpt", "-o", tmp_path / "b.json"],
        ):
            answer = unsculpt(*run, "--to", "125")
            assert (answer.exit_code, words in answer.stderr) == (1, True)


def test_a_map_of_cuts_does_not_move(unsculpt, model, tmp_path):
    run = ["export", model, "-o", tmp_path / "a.json", "--efficiency", "0.1", "--to", "125"]
    answer = unsculpt(*run)
    assert answer.exit_code == 2
    assert "a map of cuts holds cuts" in answer.stderr


def test_export_writes_the_move(unsculpt, model, tmp_path):
    correctionlib = pytest.importorskip("correctionlib")
    output = tmp_path / "moved.json"
    assert unsculpt("export", model, "-o", output, "--to", "100", "--amount", ".5").exit_code == 0
    flat = correctionlib.CorrectionSet.from_file(str(output))["flat"]
    want = us.load(model).move([0.4], [150.0], to=100, amount=0.5)
    np.testing.assert_allclose(flat.evaluate(0.4, 150.0), want, atol=0.02)
