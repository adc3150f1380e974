import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt.classifiers import Classifier


def nothing(scores, protected, *, sample_weight):
    return 0 * scores.sum()


@pytest.mark.parametrize("name", ["tagger", "normalised"])
def test_a_loaded_classifier_gives_the_same_bytes(name, request, events, tmp_path):
    classifier = request.getfixturevalue(name)
    classifier.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert isinstance(loaded, Classifier)
    one, two = (c.predict_proba(events.X) for c in (classifier, loaded))
    assert one.tobytes() == two.tobytes()
    assert loaded.get_params() | {"hidden": (8, 8)} == classifier.get_params()
    assert loaded.history_["train_loss"].tolist() == classifier.history_["train_loss"].tolist()


def test_it_can_be_saved_again(normalised, tmp_path):
    normalised.save(tmp_path / "one")
    us.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("kind", ["int8", "float64", "<U3", "object"])
def test_labels_and_names_come_back(kind, events, quick, tmp_path):
    labels = (np.array(["qcd", "w"]) if kind in ("<U3", "object") else np.arange(2)).astype(kind)
    table = pd.DataFrame(events.X, columns=["tau21", "d2"])
    classifier = Classifier(**quick).fit(table, labels[events.y])
    classifier.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert loaded.predict(table).tolist() == classifier.predict(table).tolist()
    assert loaded.feature_names_in_.tolist() == ["tau21", "d2"]


def test_a_function_as_penalty_leaves_its_name(events, quick, tmp_path):
    classifier = Classifier(penalty=nothing, alpha=1, **quick)
    classifier.fit(events.X, events.y, protected=events.mass).save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert loaded.penalty == "nothing"
    with pytest.raises(ValueError, match="penalty is 'nothing'; expected"):
        loaded.fit(events.X, events.y, protected=events.mass)


def test_a_penalty_without_a_name_can_be_saved(events, quick, tmp_path):
    classifier = Classifier(penalty=partial(nothing), alpha=1, **quick)
    classifier.fit(events.X, events.y, protected=events.mass).save(tmp_path / "model")
    assert "nothing" in us.load(tmp_path / "model").penalty


def test_it_can_be_refitted(normalised, events, tmp_path):
    normalised.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model").fit(events.X, events.y, protected=events.mass)
    one, two = (c.predict_proba(events.X) for c in (normalised, loaded))
    assert one.tobytes() == two.tobytes()


def test_what_the_file_says_of_itself(normalised, tmp_path):
    normalised.save(tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as file:
        metadata = json.loads(file.metadata()["unsculpt"])
    assert metadata["kind"] == "Classifier"
    assert metadata["parameters"]["alpha"] == 2
    assert metadata["classes"] == [0, 1]


def test_an_incomplete_file(normalised, tmp_path, monkeypatch):
    state = normalised._state

    def without_the_last_layer():
        arrays, metadata = state()
        return {name: a for name, a in arrays.items() if name != "layer.2.bias"}, metadata

    monkeypatch.setattr(normalised, "_state", without_the_last_layer)
    normalised.save(tmp_path / "model")
    with pytest.raises(ValueError, match="incomplete or of another version"):
        us.load(tmp_path / "model")


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        Classifier().save(tmp_path / "model")
