"""Model files, clones and pickles."""

import pytest
from contract import assert_same, background, copy_of, fitted, small
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unsculpt as us


def test_a_loaded_model_gives_the_same_bytes(kind, case, tmp_path):
    events, model = background(kind, case), fitted(kind, case)
    model.save(tmp_path / "model.unsculpt")
    loaded = us.load(tmp_path / "model.unsculpt")
    assert type(loaded) is kind
    assert_same(loaded.transform(*events.pair), model.transform(*events.pair))
    loaded.save(tmp_path / "again.unsculpt")
    again, first = ((tmp_path / f"{name}.unsculpt").read_bytes() for name in ("again", "model"))
    assert again == first


def test_what_is_not_fitted_cannot_be_saved_or_used(kind, tmp_path):
    events = background(kind, "one")
    with pytest.raises(NotFittedError):
        small(kind).save(tmp_path / "model.unsculpt")
    with pytest.raises(NotFittedError):
        small(kind).transform(*events.pair)
    assert not list(tmp_path.iterdir())


def test_clone_and_pickle(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    new = clone(model)
    assert repr(new.get_params()) == repr(clone(small(kind, **_own(model))).get_params())
    with pytest.raises(NotFittedError):
        new.transform(*events.pair)
    assert_same(copy_of(model).transform(*events.pair), model.transform(*events.pair))


def _own(model):
    if isinstance(model, us.Chain):
        return {}
    return getattr(model, "decorrelator", model).get_params()
