import numpy as np
import pytest

correctionlib = pytest.importorskip("correctionlib")
from correctionlib.schemav2 import CorrectionSet
from sklearn.base import clone

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.export import to_correctionlib

EVENTS = 100_000


def correction_of(model, folder, name="flat", **options):
    path = folder / "model.json"
    to_correctionlib(model, path, **options)
    return correctionlib.CorrectionSet.from_file(str(path))[name]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
@pytest.mark.parametrize("name", ["tagger", pytest.param("paper", marks=pytest.mark.slow)])
def test_agrees_within_the_tolerance(name, request, tolerance, tmp_path):
    case = request.getfixturevalue(name)
    scores, protected = case.hard_events(EVENTS)
    correction = correction_of(case.model, tmp_path, tolerance=tolerance)
    flat = correction.evaluate(scores["score"], protected["protected"])
    (expected,) = case.transform(scores, protected)
    np.testing.assert_allclose(flat, expected, rtol=0, atol=tolerance)
    assert (tmp_path / "model.json").stat().st_size < 1e6


def test_atoms_and_far_scores_are_exact_to_the_tolerance_of_the_grid_alone(tagger, tmp_path):
    score = np.array([0.0, 0.5, 1.0, -1e6, 1e6, -1e140, 1e140])
    mass = np.full(len(score), np.median(tagger.protected["protected"]))
    flat = correction_of(tagger.model, tmp_path, tolerance=1e-4).evaluate(score, mass)
    np.testing.assert_allclose(flat, tagger.model.transform(score, mass), rtol=0, atol=1e-4)
    assert len(set(flat[:3])) == 3


def test_the_order_is_kept(tagger, tmp_path):
    scores, _ = tagger.hard_events(20_000)
    correction = correction_of(tagger.model, tmp_path, tolerance=1e-2)
    for mass in tagger.protected["protected"][:10]:
        flat = correction.evaluate(np.sort(scores["score"]), mass)
        assert np.diff(flat).min() >= -1e-7


def test_nan_outside(marked, tmp_path):
    scores, protected = marked.hard_events(EVENTS)
    correction = correction_of(marked.model, tmp_path)
    mass = protected["protected"]
    low, high = (f(marked.protected["protected"]) for f in (np.min, np.max))
    mass = np.where(np.isclose(mass, [[low], [high]], rtol=1e-12).any(axis=0), low, mass)
    flat = correction.evaluate(scores["score"], mass)
    (expected,) = marked.transform(scores, {"protected": mass})
    np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-3)
    assert np.isnan(flat).any()


def test_nan_stays_nan_where_other_values_are_clipped(tagger, tmp_path):
    correction = correction_of(tagger.changed(outside="clip").model, tmp_path)
    mass = tagger.protected["protected"]
    assert np.isnan(correction.evaluate(0.5, np.nan))
    assert np.isnan(correction.evaluate(np.nan, mass[0]))
    assert correction.evaluate(0.5, np.inf) == correction.evaluate(0.5, mass.max() + 1)


def test_error_outside(tagger, tmp_path):
    correction = correction_of(tagger.changed(outside="raise").model, tmp_path)
    mass = tagger.protected["protected"]
    assert np.isfinite(correction.evaluate(0.5, np.array([mass.min(), mass.max()]))).all()
    with pytest.raises(RuntimeError, match="above bounds"):
        correction.evaluate(0.5, mass.max() + 1)


def test_file_follows_the_schema_and_names_the_columns(tagger, tmp_path):
    columns = {"score": ["tagger"], "protected": ["jet_mass"]}
    correction = correction_of(tagger.changed(source_=columns).model, tmp_path)
    CorrectionSet.model_validate_json((tmp_path / "model.json").read_text())
    assert [x.name for x in correction.inputs] == ["tagger", "jet_mass"]
    assert "0.001 or better" in correction.description


@pytest.mark.slow
def test_scores_that_nearly_coincide(tagger, tmp_path):
    # A saturated sigmoid: many scores are a few last digits below one.
    mass = tagger.protected["protected"]
    score = 1 / (1 + np.exp(-np.random.default_rng(1).normal(30, 4, len(mass))))
    model = clone(tagger.model).fit(score, mass)
    flat = correction_of(model, tmp_path).evaluate(np.sort(score), mass[0])
    assert np.isfinite(flat).all()
    assert np.diff(flat).min() >= -1e-7


def evaluated(correction, *columns):
    """Text goes in event by event."""
    return np.array([correction.evaluate(*event) for event in zip(*columns, strict=True)])


def test_networks_of_several_attributes_are_refused(two_scores, tmp_path):
    with pytest.raises(ValueError, match="needs a conditional CDF in a table"):
        to_correctionlib(two_scores.model, tmp_path / "model.json")


def test_three_continuous_attributes_are_refused(two_scores, tmp_path):
    protected = np.random.default_rng(1).normal(size=(500, 3))
    model = us.KNNDecorrelator().fit(protected[:, 0] + protected[:, 1] ** 2, protected)
    with pytest.raises(ValueError, match="two continuous attributes at most"):
        to_correctionlib(model, tmp_path / "model.json")


@pytest.mark.slow
def test_categories(spline, tmp_path):
    scores, protected = spline.hard_events(2_000)
    columns = [scores["score"], protected["mass"], [str(c) for c in protected["channel"]]]
    correction = correction_of(spline.model, tmp_path)
    (expected,) = spline.transform(scores, protected)
    np.testing.assert_allclose(evaluated(correction, *columns), expected, rtol=0, atol=1e-3)
    assert (tmp_path / "model.json").stat().st_size < 2e6
    with pytest.raises(IndexError):
        correction.evaluate(0.5, 90.0, "tt")
    marked = correction_of(spline.changed(outside="nan").model, tmp_path)
    assert np.isnan(marked.evaluate(0.5, 90.0, "tt"))


def test_categories_that_are_numbers(tmp_path):
    rng = np.random.default_rng(1)
    year, mass = rng.choice([2017, 2018], 1_000), rng.uniform(50, 150, 1_000)
    score = rng.normal(mass / 100 + (year == 2018))
    table = np.column_stack([year, mass])
    model = us.SplineDecorrelator(categorical=[0]).fit(score, table)
    correction = correction_of(model, tmp_path, tolerance=1e-2)
    flat = evaluated(correction, score[:200], [int(y) for y in year[:200]], mass[:200])
    np.testing.assert_allclose(flat, model.transform(score[:200], table[:200]), atol=1e-2)


@pytest.mark.slow
def test_two_attributes(tmp_path):
    toy = toys.two_attributes(20_000, 0, seed=1)
    model = us.SplineDecorrelator().fit(toy.score, toy.protected)
    correction = correction_of(model, tmp_path)  # a finer one would be refused
    assert "to 0.01 or better" in correction.description
    flat = correction.evaluate(toy.score, *toy.protected.T)
    expected = model.transform(toy.score, toy.protected)
    np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-2)
    assert (tmp_path / "model.json").stat().st_size < 5e6
    with pytest.raises(ValueError, match="allow a larger tolerance"):
        to_correctionlib(model, tmp_path / "other.json", tolerance=1e-3)
    assert not (tmp_path / "other.json").exists()


def test_says_how_to_prepare_the_inputs(tagger, tmp_path):
    columns = {"score": ["tagger"], "protected": ["jet_mass / 1000"]}
    correction = correction_of(tagger.changed(source_=columns).model, tmp_path, tolerance=1e-2)
    assert '"jet_mass / 1000", fitted from' in correction.inputs[1].description


def test_a_chain_is_refused(chain, tmp_path):
    with pytest.raises(ValueError, match=r"a Chain is several maps.* ONNX takes it"):
        to_correctionlib(chain.model, tmp_path / "model.json")


def test_vectors_are_refused(classes, tmp_path):
    for step in classes.model.steps:
        with pytest.raises(ValueError, match=r"in a table, which.* ONNX takes it, and a C\+\+"):
            to_correctionlib(step, tmp_path / "model.json")


def test_a_method_without_a_table_is_refused(knn, tmp_path):
    with pytest.raises(ValueError, match="which this method does not make"):
        to_correctionlib(knn.model, tmp_path / "model.json")


@pytest.mark.parametrize("tolerance", [0, -1, np.nan])
def test_tolerance_must_be_positive(tagger, tmp_path, tolerance):
    with pytest.raises(ValueError, match="expected a positive number"):
        to_correctionlib(tagger.model, tmp_path / "model.json", tolerance=tolerance)


def test_folds_are_exported_one_by_one(tmp_path):
    toy = toys.smooth(1000, 0, seed=1)
    model = us.CrossFit(us.SplineDecorrelator(), folds=2).fit(toy.score, toy.protected)
    with pytest.raises(ValueError, match="a CrossFit has a model for each fold"):
        to_correctionlib(model, tmp_path / "model.json")
    low, high = toy.protected.min() - 1, toy.protected.max() + 1
    flat = correction_of(model.models_[0], tmp_path)
    found = [flat.evaluate(0.5, mass) for mass in (low, high)]
    with pytest.warns(UserWarning, match="outside the fitted"):
        want = model.models_[0].transform([0.5, 0.5], [low, high])
    np.testing.assert_allclose(found, want, atol=1e-3)
