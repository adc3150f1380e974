"""The physics that the shipped jets have to show."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from unsculpt import datasets
from unsculpt.datasets import load_jets

DATA = Path(datasets.__file__).parent / "data" / "jets.parquet"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the sample is not in this checkout")

BINS = np.linspace(50, 300, 51)


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
def test_sizes_and_window(split, sizes):
    jets = load_jets(split, top=True)
    assert np.bincount(jets.label).tolist() == sizes
    assert jets.features.dtype == jets.mass.dtype == np.float32
    assert np.isfinite(jets.features).all()
    assert np.all((jets.mass >= 50) & (jets.mass <= 300))
    assert np.all((jets.features[:, 0] >= 300) & (jets.features[:, 0] <= 400))


def test_small_enough_to_ship():
    assert DATA.stat().st_size <= 30e6


def test_no_jet_is_there_twice():
    jets = load_jets(top=True)
    rows = np.column_stack([jets.mass, jets.features])
    assert len(np.unique(rows, axis=0)) == len(rows)


def peak(mass):
    counts, edges = np.histogram(mass, np.arange(50, 301, 2))
    return edges[counts.argmax()] + 1


def test_masses_peak_where_they_should():
    jets = load_jets(top=True)
    assert 78 <= peak(jets.mass[jets.label == 1]) <= 88
    assert 160 <= peak(jets.mass[jets.label == 2]) <= 185


def test_qcd_mass_falls_smoothly(held_out):
    counts, _ = np.histogram(held_out.mass[held_out.label == 0], np.arange(60, 241, 10))
    assert np.all(np.diff(counts) < 3 * np.sqrt(counts[1:] + counts[:-1]))
    assert counts[0] > 10 * counts[-1]


def test_a_classifier_separates_and_sculpts(held_out):
    train = load_jets("train")
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    model.fit(train.features[::4], train.label[::4])
    score = model.predict_proba(held_out.features)[:, 1]
    assert 0.85 < roc_auc_score(held_out.label, score) < 0.97
    passes = score > np.median(score[held_out.label == 1])
    mass, passes = held_out.mass[held_out.label == 0], passes[held_out.label == 0]
    spectra = [np.histogram(mass[kept], BINS)[0] for kept in (passes, ~passes)]
    assert 1 / jensenshannon(*spectra) ** 2 < 30


@pytest.mark.parametrize("name", ["d2", "tau21"])
def test_heavier_qcd_jets_look_more_like_two_prongs(held_out, name):
    qcd = held_out.label == 0
    mass, values = held_out.mass[qcd], held_out.features[qcd, held_out.names.index(name)]
    means = [values[(mass >= low) & (mass < low + 25)].mean() for low in range(50, 150, 25)]
    assert np.all(np.diff(means) < 0)
