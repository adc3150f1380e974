"""Simulation morphed to data, on a toy whose truth is known."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import unsculpt as us
from unsculpt.cli import app
from unsculpt.inputs import Columns


def draw(events, seed, sample):
    """Two variables that know the pt and each other; the second has a spike at zero."""
    rng, data = np.random.default_rng(seed), sample == "data"
    pt = rng.uniform(20, 100, events)
    first = rng.normal((pt - 60) / 40 + 0.3 * data, 1 + 0.2 * data)
    hidden = rng.normal((0.8 if data else 0.3) * first)
    spike = hidden < 0.4 * data
    second = np.where(spike, 0, 0.1 + (1 + 0.2 * data) * np.abs(hidden))
    return np.column_stack([first, second]), Columns(pt=pt, sample=np.full(events, sample))


def both(events, seed):
    (data, first), (simulation, second) = (
        draw(events, seed + i, sample) for i, sample in enumerate(("data", "simulation"))
    )
    table = Columns({name: np.concatenate([first[name], second[name]]) for name in first})
    return np.vstack([data, simulation]), table


def quiet(model, *events):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a few events beyond the fit
        return model.transform(*events)


def told_apart(first, second):
    """The AUC of a classifier that is to tell two samples apart."""
    x, y = np.vstack([first, second]), np.repeat([0, 1], [len(first), len(second)])
    order = np.random.default_rng(0).permutation(len(x))
    learn, test = np.array_split(order, 2)
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(x[learn], y[learn])
    return roc_auc_score(y[test], model.predict_proba(x[test])[:, 1])


@pytest.fixture(scope="module")
def one():
    """The first variable alone, of any pt."""
    x, table = both(20_000, 1)
    return us.Morphing(us.SplineDecorrelator(), {"sample": "data"}).fit(x[:, 0], table)


def test_one_variable_is_exact(one):
    x, table = draw(5_000, 3, "simulation")
    middle = (table["pt"] - 60) / 40
    truth = middle + 0.3 + 1.2 * (x[:, 0] - middle)
    assert np.abs(quiet(one, x[:, 0], table) - truth).mean() < 0.05 < np.abs(x[:, 0] - truth).mean()


def test_data_stays_what_it_is(one):
    x, table = draw(100, 5, "data")
    assert quiet(one, x[:, 0], table).tobytes() == np.ascontiguousarray(x[:, 0]).tobytes()


def test_the_share_of_a_spike():
    x, table = both(5_000, 1)
    model = us.Morphing(us.SplineDecorrelator(), {"sample": "data"})
    model.fit(x[:, 1], Columns(sample=table["sample"]))
    rows = table["sample"] == "simulation"
    for to, others in (("data", rows), ("simulation", ~rows)):  # it grows, and it shrinks
        model.to = {"sample": to}
        morphed = model.transform(x[others, 1], Columns(sample=table["sample"][others]))
        share = np.mean(x[~others, 1] == 0)
        assert np.mean(morphed == 0) == pytest.approx(share, abs=0.02)


def test_weights_count():
    x, table = both(5_000, 1)
    weight = np.where(x[:, 0] > 0.3, 3.0, 1.0) * np.where(table["sample"] == "data", 1.0, 0.5)
    weight[table["sample"] == "simulation"] = 0.5
    own = Columns(sample=table["sample"])
    model = us.Morphing(us.SplineDecorrelator(), {"sample": "data"})
    model.fit(x[:, 0], own, sample_weight=weight)
    rows = table["sample"] == "simulation"
    morphed = model.transform(x[rows, 0], own[rows])
    want = np.average(x[~rows, 0], weights=weight[~rows])
    assert np.mean(morphed) == pytest.approx(want, abs=0.05)
    assert abs(want - np.mean(x[~rows, 0])) > 0.2


def test_the_model_file_carries_it(one, tmp_path):
    x, table = draw(500, 7, "simulation")
    one.save(tmp_path / "morphing.unsculpt")
    again = us.load(tmp_path / "morphing.unsculpt")
    np.testing.assert_array_equal(quiet(again, x[:, 0], table), quiet(one, x[:, 0], table))
    assert again.to == {"sample": "data"}
    told = CliRunner().invoke(app, ["info", str(tmp_path / "morphing.unsculpt")]).output
    assert "Morphing" in told
    assert "sample: one of data, simulation" in told


def test_columns_go_by_name_and_outside_is_followed(one):
    x, table = draw(100, 7, "simulation")
    turned = Columns(sample=table["sample"], pt=table["pt"])
    np.testing.assert_array_equal(quiet(one, x[:, 0], turned), quiet(one, x[:, 0], table))
    table["pt"][0] = 500
    one.outside = "nan"
    assert np.isnan(quiet(one, x[:, 0], table)).tolist()[:2] == [True, False]
    one.outside = "clip"


def test_in_folds_it_stays_what_it_is():
    """What is outside is for the folds to say; their models keep their own word."""
    x, table = both(200, 1)
    morphing = us.Morphing(us.SplineDecorrelator(), {"sample": "data"})
    folds = us.CrossFit(morphing, folds=2).fit(x[:, 0], table)
    quiet(folds, x[:, 0], table)
    assert [model.outside for model in folds.models_] == ["clip", "clip"]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("data", "to is 'data'; expected a sample, such as"),
        ({}, "to is {}; expected a sample"),
        ({"kind": "data"}, r"to names 'kind'; the protected attributes are \['pt', 'sample'\]"),
        ({"sample": "toys"}, r"sample 'toys', outside the fitted \['data', 'simulation'\]"),
    ],
)
def test_a_sample_that_is_none(to, words):
    x, table = both(100, 1)
    with pytest.raises(ValueError, match=words):
        us.Morphing(us.SplineDecorrelator(), to).fit(x[:, 0], table)


def test_a_column_that_is_called_as_a_variable_of_the_chain():
    x, table = both(100, 1)
    table = Columns({"sample": table["sample"], "variable 1": table["pt"]})
    with pytest.raises(ValueError, match=r"protected has a column 'variable 1'.* rename it"):
        us.Morphing(us.FlowDecorrelator(), {"sample": "data"}).fit(x, table)


def test_methods_that_know_too_little():
    x, table = both(100, 1)
    with pytest.raises(ValueError, match="does not know the whole distribution"):
        us.Morphing(us.KNNDecorrelator(), {"sample": "data"}).fit(x[:, 0], table)


@pytest.mark.slow
def test_a_classifier_cannot_tell_morphed_simulation_from_data():
    flow = us.FlowDecorrelator(members=1, epochs=15)
    model = us.Morphing(flow, {"sample": "data"}).fit(*both(10_000, 1))
    (simulation, table), (data, other) = draw(20_000, 11, "simulation"), draw(20_000, 12, "data")
    morphed = quiet(model, simulation, table)
    pt, other_pt = table["pt"][:, None], other["pt"][:, None]
    assert told_apart(np.hstack([simulation, pt]), np.hstack([data, other_pt])) > 0.68
    assert told_apart(np.hstack([morphed, pt]), np.hstack([data, other_pt])) < 0.53
    assert np.mean(morphed[:, 1] == 0) == pytest.approx(np.mean(data[:, 1] == 0), abs=0.03)
