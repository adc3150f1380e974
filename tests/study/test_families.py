import numpy as np
import pytest

from unsculpt.classifiers import Classifier
from unsculpt.study import families
from unsculpt.study.families import FAMILIES, train_family
from unsculpt.study.sample import splits

JETS = splits(None, 200)


@pytest.fixture
def given(monkeypatch, stand_ins):
    """What the training is called with."""
    stand_ins(monkeypatch)
    fit, calls = families.fit_many, []

    def fit_many(classifiers, features, label, **others):
        calls.append({"classifiers": classifiers, "features": features, "label": label, **others})
        return fit(classifiers, features, label, **others)

    monkeypatch.setattr(families, "fit_many", fit_many)
    return calls


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_background_to_fit_on_and_of_all_test_jets(given, family):
    fit, test = train_family(family, [(50.0, 0), (100.0, 1)], 3, JETS, 1)
    assert fit.shape == (2, np.sum(JETS.train.label == 0))
    assert test.shape == (2, len(JETS.test))
    (call,) = given
    assert [(c.seed, c.epochs) for c in call["classifiers"]] == [(0, 3), (1, 3)]
    assert call["protected"] is JETS.train.mass


@pytest.mark.parametrize(
    ("family", "recipe"),
    [
        ("vDNN", Classifier.vdnn()),
        ("DNN (cf-inputs)", Classifier.vdnn()),
        ("DisCo", Classifier.disco(100)),
        ("MoDe", Classifier.mode(100)),
        ("adversary", Classifier.adversarial(100)),
        # The sum of two means counts twice as much as the mean of all.
        ("published DisCo", Classifier.disco(50, activation="relu", learning_rate=1e-4)),
    ],
)
def test_a_family_is_its_recipe(given, family, recipe):
    train_family(family, [(100.0, 0)], 100, JETS, 1)
    assert given[0]["classifiers"][0].get_params() == recipe.get_params()


def test_published_disco_has_no_pt_and_classes_of_equal_weight(given):
    train_family("published DisCo", [(100.0, 0)], 1, JETS)
    (call,) = given
    assert call["features"].shape[1] == JETS.train.features.shape[1] - 1
    weight, label = call["sample_weight"], call["label"]
    assert weight[label == 0].sum() == pytest.approx(weight[label == 1].sum(), rel=1e-3)
    assert np.std(weight) > 0


def test_inputs_are_decorrelated_by_the_background(given):
    train_family("DNN (cf-inputs)", [(0.0, 0)], 1, JETS, 1)
    (call,) = given
    background = JETS.train.label == 0
    for feature in call["features"][background].T:
        assert np.corrcoef(feature, JETS.train.mass[background])[0, 1] == pytest.approx(0, abs=1e-3)
