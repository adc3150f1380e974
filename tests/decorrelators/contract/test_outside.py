"""Values beyond the range of the fit."""

import numpy as np
import pytest
from contract import Events, assert_same, background, copy_of, fit, fitted

import unsculpt as us

OUTSIDE = r"is outside the fitted .* in 1 of 400 events"


def with_outside(kind, case, outside):
    """The fitted model with another policy."""
    model = copy_of(fitted(kind, case))
    for part in getattr(model, "steps", [model]):
        part.outside = outside
    return model


@pytest.fixture
def beyond(kind, case):
    """Events of which the first is beyond the range of the fit."""
    events = background(kind, case)
    mass = events.protected["mass"].to_numpy().copy()
    mass[0] = 10 * mass.max()
    return Events(events.scores, events.protected.assign(mass=mass)), mass


def test_clip_lets_the_nearest_value_stand_in(kind, case, beyond):
    events, mass = beyond
    model = fitted(kind, case)
    with pytest.warns(UserWarning, match=OUTSIDE) as record:
        flat = model.transform(*events.pair)
    assert record[0].filename == __file__  # the line of the user, not one of ours
    edge = background(kind, case).protected["mass"].max()
    nearest = events.protected.assign(mass=np.minimum(mass, edge))
    if not isinstance(model, us.DDTDecorrelator):  # which makes another variable of two
        assert_same(flat, model.transform(events.scores, nearest))
    assert np.isfinite(flat).all()
    assert_same(flat[1:], model.transform(*background(kind, case).pair)[1:])


def test_raise_is_an_error_that_counts_them(kind, case, beyond):
    model = with_outside(kind, case, "raise")
    with pytest.raises(ValueError, match=OUTSIDE):
        model.transform(*beyond[0].pair)
    model.transform(*background(kind, case).pair)


def test_nan_marks_them(kind, case, beyond):
    model = with_outside(kind, case, "nan")
    with pytest.warns(UserWarning, match="they become NaN"):
        flat = model.transform(*beyond[0].pair)
    assert np.isnan(flat[0]).all()
    assert_same(flat[1:], model.transform(*background(kind, case).pair)[1:])


def test_another_word_is_refused(kind):
    with pytest.raises(ValueError, match="outside is 'ignore'; expected 'clip', 'raise' or"):
        fit(kind, background(kind, "one"), "one", outside="ignore")


@pytest.mark.parametrize("which", ["mass", 0, None])
def test_one_category_is_a_list_too(kind, which):
    if kind is us.DDTDecorrelator:
        pytest.skip("takes no categories")
    with pytest.raises(ValueError, match=f"categorical is {which!r}; expected a list of"):
        fit(kind, background(kind, "one"), "one", categorical=which)


def test_a_category_that_was_not_there(kind, case):
    if case != "mixed":
        pytest.skip("no categories here")
    events = background(kind, case)
    table = events.protected.assign(channel="em")
    with pytest.raises(ValueError, match=r"channel is outside the fitted \['ee', 'mm'\]"):
        fitted(kind, case).transform(events.scores, table)
