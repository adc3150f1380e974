"""Events in any order, unit and number, and those that are no good."""

import numpy as np
import pytest
from contract import (
    EVENTS,
    LONGER,
    Events,
    assert_same,
    background,
    fit,
    fitted,
    fitted_longer,
    has_inverse,
    skip_if_costly,
    small,
    trains,
)


def test_another_order_of_the_events(kind, case):
    skip_if_costly(kind, case)
    events, order = background(kind, case), np.random.default_rng(0).permutation(EVENTS)
    model = fitted(kind, case)
    flat = model.transform(*events.pair)
    shuffled = events.some(order)
    assert_same(model.transform(*shuffled.pair), flat[order])
    other = fit(kind, shuffled, case, **LONGER).transform(*events.pair)
    if trains(kind):
        flat = fitted_longer(kind, case).transform(*events.pair)
        assert np.abs(other - flat).mean() < 0.2 * flat.std()
    else:
        np.testing.assert_allclose(other, flat, rtol=0, atol=1e-9)


def test_units_of_the_attributes(kind, case):
    skip_if_costly(kind, case)
    events = background(kind, case)
    mev = events.protected.assign(
        **{
            name: 1000 * events.protected[name]
            for name in ("mass", "pt")
            if name in events.protected
        }
    )
    np.testing.assert_allclose(
        fit(kind, Events(events.scores, mev), case).transform(events.scores, mev),
        fitted(kind, case).transform(*events.pair),
        rtol=0,
        atol=1e-3 if trains(kind) else 1e-8,
    )


def test_columns_go_by_their_names(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    turned = events.protected[events.protected.columns[::-1]]
    assert_same(model.transform(events.scores, turned), model.transform(*events.pair))
    if case != "one":
        with pytest.raises(ValueError, match="protected has no column 'mass'; it has"):
            model.transform(events.scores, events.protected.rename(columns={"mass": "m"}))


def test_as_many_columns_as_in_the_fit(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    with pytest.raises(ValueError, match=r"protected has .* columns; expected"):
        model.transform(events.scores, events.protected.assign(more=1.0, still_more=2.0))
    with pytest.raises(ValueError, match=r"scores|features"):
        model.transform(
            np.column_stack([events.scores, events.scores, events.scores]), events.protected
        )


def test_no_events_in_none_out(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    none = events.some(slice(0))
    assert model.transform(*none.pair).shape == none.scores.shape
    if has_inverse(model):
        assert len(model.inverse_transform(*none.pair)) == 0
    if hasattr(model, "log_prob"):
        assert len(model.log_prob(*none.pair)) == 0
    if hasattr(model, "threshold"):
        assert len(model.threshold(getattr(model, "efficiency", 0.1), none.protected)) == 0
    if hasattr(model, "sample"):
        assert len(model.sample(none.protected)) == 0


def test_it_says_how_many_scores_it_takes(kind, case):
    scores = background(kind, case).scores
    assert fitted(kind, case).n_scores_ == (1 if scores.ndim == 1 else scores.shape[1])


def test_a_fit_needs_events(kind):
    few = background(kind, "one").some(slice(5))
    with pytest.raises(ValueError, match="has 5 events; a fit needs at least 10"):
        fit(kind, few, "one")
    with pytest.raises(ValueError, match="has 0 events; a fit needs at least 10"):
        fit(kind, few.some(slice(0)), "one")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("what", ["scores", "mass"])
def test_nan_and_infinity_are_refused_and_counted(kind, what, bad):
    events = background(kind, "one")
    scores, mass = events.scores.copy(), events.protected["mass"].to_numpy().copy()
    (scores if what == "scores" else mass)[3:5] = bad
    events = Events(scores, events.protected.assign(mass=mass))
    with pytest.raises(ValueError, match="is NaN or infinite in 2 of 400 events"):
        fit(kind, events, "one")
    with pytest.raises(ValueError, match="is NaN or infinite in 2 of 400 events"):
        fitted(kind, "one").transform(*events.pair)


def test_masked_arrays_are_refused(kind):
    events, model = background(kind, "one"), fitted(kind, "one")
    protected, weight = events.protected.to_numpy(), np.ones(EVENTS)

    def masked(values):
        hidden = np.ma.array(values, mask=False)
        hidden[:7] = np.ma.masked
        return hidden

    with pytest.raises(ValueError, match="is masked in 7 of 400 events"):
        model.transform(masked(events.scores), protected)
    with pytest.raises(ValueError, match="is masked in 7 of 400 events"):
        model.transform(events.scores, masked(protected))
    with pytest.raises(ValueError, match="is masked in 7 of 400 events"):
        small(kind).fit(masked(events.scores), protected)
    with pytest.raises(ValueError, match="is masked in 7 of 400 events"):
        small(kind).fit(events.scores, protected, sample_weight=masked(weight))
    shown = np.ma.array(events.scores, mask=False)
    assert_same(model.transform(shown, protected), model.transform(events.scores, protected))
