"""Event weights."""

import warnings

import numpy as np
import pandas as pd
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
    skip_if_costly,
    trains,
)

import unsculpt as us


def doubled(kind, case):
    """Events with some of double weight, and the same with those twice."""
    events = background(kind, case)
    first = events.first - 2 * np.log(events.protected["mass"] / 50)
    copies = np.where(first > first.median(), 4, 1)
    copies[np.random.default_rng(1).uniform(size=EVENTS) < 0.05] = 0
    rows = np.repeat(np.arange(EVENTS), copies)
    return events, Events(*events.pair, copies.astype(float)), events.some(rows)


def test_a_doubled_weight_is_a_duplicated_event(kind, case):
    skip_if_costly(kind, case)
    plain, weighted, duplicated = doubled(kind, case)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is outside the fitted")  # of weight zero
        models = [fit(kind, events, case, **LONGER) for events in (weighted, duplicated)]
        models.append(fitted_longer(kind, case))
        one, other, without = (model.transform(*plain.pair) for model in models)
    if trains(kind):
        # Training scatters; what the weights change must be larger than that.
        assert np.abs(one - other).mean() < 0.5 * np.abs(one - without).mean()
    else:
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_an_event_of_weight_zero_is_none(kind, case):
    """Not even where it alone has a mass, a category or a score."""
    events = background(kind, case)
    junk = events.some(np.zeros(5, int))
    table = junk.protected.assign(mass=1e5)
    table = table.assign(channel="em") if case == "mixed" else table
    table = table.assign(sample=7) if kind is us.Morphing else table
    weighted = Events(
        np.concatenate([events.scores, junk.scores + 1e3]),
        pd.concat([events.protected, table]),
        np.repeat([1.0, 0.0], [EVENTS, 5]),
    )
    assert_same(
        fit(kind, weighted, case).transform(*events.pair),
        fitted(kind, case).transform(*events.pair),
    )


def test_the_scale_of_the_weights_does_not_matter(kind, case):
    skip_if_costly(kind, case)
    events = background(kind, case)
    scaled = Events(*events.pair, np.full(EVENTS, 1e-7))
    np.testing.assert_allclose(
        fit(kind, scaled, case).transform(*events.pair),
        fitted(kind, case).transform(*events.pair),
        rtol=0,
        atol=1e-3 if trains(kind) else 1e-6,
    )


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(EVENTS), "sample_weight|weight other than zero"),
        (np.full(EVENTS, -1.0), "sample_weight sums to -400"),
        (np.ones(EVENTS - 1), "sample_weight has 399 events"),
        (np.full(EVENTS, np.nan), "sample_weight is NaN or infinite in 400 of 400"),
        (np.ones((EVENTS, 2)), r"sample_weight has shape \(400, 2\)"),
    ],
)
def test_weights_that_make_no_sense(kind, weight, message):
    events = background(kind, "one")
    with pytest.raises(ValueError, match=message):
        fit(kind, Events(*events.pair, weight), "one")
