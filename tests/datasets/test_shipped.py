"""The physics that the shipped jets have to show."""

import json
from dataclasses import fields
from importlib.resources import files

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import ks_2samp
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from unsculpt import metrics
from unsculpt.datasets import COLUMNS, load_jets, load_w_high_level

QCD, W, TOP = range(3)
DATA = files("unsculpt.datasets") / "data" / "jets.parquet"


@pytest.fixture(scope="module")
def jets():
    return load_jets(top=True)


@pytest.fixture(scope="module")
def held_out():
    return load_jets("test")


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ("train", [110_000, 110_000, 40_000]),
        ("val", [30_000, 15_000, 5_000]),
        ("test", [150_000, 30_000, 20_000]),
    ],
)
def test_sizes_and_order(split, sizes):
    assert load_jets(split).label.tolist() == np.repeat([QCD, W], sizes[:2]).tolist()
    assert load_jets(split, top=True).label.tolist() == np.repeat([QCD, W, TOP], sizes).tolist()


def test_arrays_can_be_written_to():
    jets = load_jets("val")
    for column in (jets.features, jets.mass, jets.label, jets.weight):
        column[0] = 0


def test_in_the_window(jets):
    pt = jets.features[:, jets.names.index("pt")]
    assert np.isfinite(jets.features).all()
    assert np.all((jets.mass >= 50) & (jets.mass <= 300))
    assert np.all((pt >= 300) & (pt <= 400))
    assert np.all(jets.weight == 1)


def test_the_original_jets_have_the_same_schema(jets, tmp_path):
    splits = {split: np.zeros((3, 12)) for split in ("train", "val", "test")}
    np.savez(tmp_path / "W_high_level.npz", **splits)
    original = load_w_high_level(tmp_path / "W_high_level.npz")
    assert original.names == jets.names
    for name in {field.name for field in fields(jets)} - {"names"}:
        mine, theirs = getattr(jets, name), getattr(original, name)
        assert (mine.dtype, mine.shape[1:]) == (theirs.dtype, theirs.shape[1:])


def test_the_file_is_small_and_says_how_it_was_made():
    assert DATA.stat().st_size <= 30e6
    schema = pq.read_schema(DATA)
    assert {str(schema.field(name).type) for name in COLUMNS} == {"float"}
    made = json.loads(schema.metadata[b"jets"])
    assert {name: made[name]["jets"] for name in made} == {
        "qcd": 290_000,
        "w": 155_000,
        "top": 65_000,
    }
    assert {made[name]["seed"] for name in made} == {2024}


def test_no_jet_is_there_twice(jets):
    assert len(np.unique(jets.mass + 1j * jets.features[:, jets.names.index("d2")])) == len(jets)


def test_splits_are_alike(held_out):
    train = load_jets("train")
    for label in (QCD, W):
        one, other = train.label == label, held_out.label == label
        assert ks_2samp(train.mass[one], held_out.mass[other]).pvalue > 1e-4
        for mine, theirs in zip(train.features.T, held_out.features.T, strict=True):
            assert ks_2samp(mine[one], theirs[other]).pvalue > 1e-4


def test_unknown_split():
    with pytest.raises(ValueError, match="'valid', expected train, val, test"):
        load_jets("valid")


@pytest.mark.parametrize(("label", "low", "high"), [(W, 78, 88), (TOP, 165, 180)])
def test_masses_peak_where_they_should(jets, label, low, high):
    mass = jets.mass[jets.label == label]
    content, edges = np.histogram(mass, np.arange(50, 301, 2))
    assert low <= edges[content.argmax()] + 1 <= high
    assert low <= np.mean(metrics.signal_window(mass)) <= high


def test_qcd_mass_falls_smoothly(jets):
    """The logarithm of the spectrum falls, and a polynomial describes it: no bump, no step."""
    edges = np.arange(60, 226, 5)
    content, _ = np.histogram(jets.mass[jets.label == QCD], edges)
    error = 1 / np.sqrt(content)
    logarithm = np.log(content)
    assert np.all(np.diff(logarithm) < 3 * np.hypot(error[1:], error[:-1]))
    assert content[0] > 50 * content[-1]
    fit = np.polynomial.Polynomial.fit(edges[:-1], logarithm, 5, w=1 / error)
    assert np.abs((logarithm - fit(edges[:-1])) / error).max() < 4


def test_a_classifier_separates_and_sculpts(held_out):
    train = load_jets("train")
    tagger = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    with threadpool_limits(1):  # OpenMP crawls where cores are shared
        tagger.fit(train.features[::2], train.label[::2])
        score = tagger.predict_proba(held_out.features)[:, 1]
    assert 0.85 < metrics.auc(score, held_out.label) < 0.97
    edges = np.linspace(50, 300, 51)
    assert metrics.inverse_jsd(score, held_out.label, held_out.mass, bins=edges) < 30


def test_two_variables_give_the_mass_away(jets):
    zcut, sqrtd12 = (jets.features[:, jets.names.index(name)] for name in ("zcutdef", "sqrtd12"))
    assert np.allclose(sqrtd12 * np.sqrt(1 / zcut - 1), jets.mass, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "sign"), [("d2", -1), ("tau21", -1), ("ktdr", +1), ("sqrtd12", +1)]
)
def test_heavier_qcd_jets_have_more_of_two_prongs(held_out, name, sign):
    """At fixed pT mass comes from one hard, wide splitting: more of it, less besides."""
    qcd = held_out.label == QCD
    values = held_out.features[qcd, held_out.names.index(name)]
    bins = np.digitize(held_out.mass[qcd], np.arange(50, 151, 25))
    medians = [np.median(values[bins == i]) for i in range(1, 5)]
    assert np.all(sign * np.diff(medians) > 0)
