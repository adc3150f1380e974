"""What a new score is, and how a model behaves."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from contract import (
    EVENTS,
    Bomb,
    assert_same,
    background,
    calls_of_a_fit,
    copy_of,
    fit,
    fitted,
    fitted_longer,
    has_inverse,
    skip_if_costly,
    small,
)
from scipy.stats import ks_2samp, kstest

import unsculpt as us
from unsculpt.decorrelators.base import ScoreDecorrelator
from unsculpt.saving import checksum


def test_the_order_is_kept(kind, case):
    """At fixed attributes, and with the other score as it is."""
    if issubclass(kind, us.FeatureDecorrelator) and case != "one":
        pytest.skip("features are mixed with one another")
    if issubclass(kind, us.OddsDecorrelator):
        pytest.skip("one probability cannot change by itself: test_odds.py")
    events, model = background(kind, case), fitted(kind, case)
    low, high = events.first.min(), events.first.max()
    scores = np.tile(events.scores[0], (5000, 1))
    scores[:, 0] = np.linspace(2 * low - high, 2 * high - low, 5000)  # beyond what was seen
    for row in (0, 7):
        table = events.protected.iloc[np.full(5000, row)]
        flat = model.transform(scores, table)[:, 0]
        assert np.diff(flat).min() >= -1e-7 * max(1, flat.max() - flat.min())


def test_it_no_longer_follows_the_mass(kind, case):
    """Roughly, on its own sample; and uniform where it is a conditional CDF."""
    skip_if_costly(kind, case)
    if kind is us.Morphing:
        pytest.skip("it may follow the mass as data does: test_morphing.py")
    events = background(kind, case)
    flat = fitted_longer(kind, case).transform(*events.pair).reshape(EVENTS, -1)
    before, after = events.first, flat[:, 0]
    heavy = (events.protected["mass"] > events.protected["mass"].median()).to_numpy()
    assert ks_2samp(after[heavy], after[~heavy]).statistic < 0.17
    assert ks_2samp(before[heavy], before[~heavy]).statistic > 0.25
    discrete = "continuous" in small(kind).get_params()
    if isinstance(small(kind), us.ScoreDecorrelator) and not discrete:
        assert kstest(after, "uniform").statistic < 0.1


def test_what_inverse_transform_undoes(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    if not has_inverse(model):
        pytest.skip("there is no inverse")
    # A mean over folds has no inverse, the map of an event's own fold has.
    own = {"event": np.arange(EVENTS)} if kind is us.CrossFit else {}
    levels = model.transform(*events.pair, **own)
    back = model.inverse_transform(levels, events.protected, **own)
    np.testing.assert_allclose(back, events.scores, atol=1e-5)


def test_threads_share_a_model(kind, case):
    events, model = background(kind, case), copy_of(fitted(kind, case))
    expected = fitted(kind, case).transform(*events.pair)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.transform(*events.pair), range(8)):
            assert_same(found, expected)


def test_a_reader_gets_to_the_answer_in_six_files(kind, case):
    """From `transform`; those that check arrays and share events out to threads aside."""
    if kind in (us.Chain, us.CrossFit, us.Morphing, us.Moved, us.OddsDecorrelator):
        pytest.skip("its parts have trails of their own")
    events, model = background(kind, case), fitted(kind, case)
    model.transform(*events.pair)  # a table is made once
    with Bomb() as bomb:
        model.transform(*events.pair)
    aside = re.compile(r"/unsculpt/(inputs|lists|devices)\.py$")
    assert len([file for file in bomb.files if not aside.search(file)]) <= 6


def test_the_same_events_give_the_same_bytes(kind):
    events = background(kind, "one")
    model, again = fitted(kind, "one"), fit(kind, events, "one")
    assert_same(again.transform(*events.pair), model.transform(*events.pair))
    assert checksum(again) == checksum(model)


@pytest.mark.filterwarnings("ignore:scores has one component")
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_an_interrupted_fit_leaves_the_old_one(kind, share):
    events, other = background(kind, "one"), background(kind, "one", seed=9)
    model = copy_of(fitted(kind, "one"))
    expected = model.transform(*events.pair)
    bomb = Bomb(fuse=max(1, int(share * calls_of_a_fit(kind))))
    with pytest.raises(KeyboardInterrupt), bomb:
        model.fit(*other.pair)
    assert_same(model.transform(*events.pair), expected)


def test_several_efficiencies_at_once(kind, case):
    model, protected = fitted(kind, case), background(kind, case).protected
    if not hasattr(model, "threshold"):
        pytest.skip("no cuts")
    # Others may know one cut alone.
    shares = [0.5, 0.1, 0.05] if isinstance(model, ScoreDecorrelator) else [0.1, 0.1]
    cuts = model.threshold(shares, protected)
    assert cuts.shape == (*model.threshold(shares[0], protected).shape, len(shares))
    for i, share in enumerate(shares):
        assert_same(cuts[..., i], model.threshold(share, protected))
    with pytest.raises(ValueError, match="efficiency"):
        model.threshold([], protected)
    with pytest.raises(ValueError, match=r"2|quantile"):
        model.threshold([shares[0], 2.0], protected)


def test_levels_0_and_1_are_the_ends_of_the_fit(kind, case):
    events, model = background(kind, case), fitted(kind, case)
    if not (isinstance(model, ScoreDecorrelator) and has_inverse(model)):
        pytest.skip("no levels")
    ends = np.zeros_like(events.scores), np.ones_like(events.scores)
    low, high = (model.inverse_transform(levels, events.protected) for levels in ends)
    assert_same(low, np.broadcast_to(np.min(events.scores, axis=0), low.shape))
    assert_same(high, np.broadcast_to(np.max(events.scores, axis=0), high.shape))
    # Rounding is no error: in a chain levels come from the inverse of another map.
    assert_same(model.inverse_transform(ends[1] + 1e-9, events.protected), high)
    assert_same(model.inverse_transform(ends[0] - 1e-9, events.protected), low)
    with pytest.raises(ValueError, match="expected decorrelated scores on"):
        model.inverse_transform(ends[1] + 1e-3, events.protected)
