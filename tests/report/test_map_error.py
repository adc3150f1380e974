import numpy as np
import pytest

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.report.events import Events
from unsculpt.report.map_error import map_errors


@pytest.fixture(scope="module")
def spline():
    train = toys.tagger(3000, 0, seed=5)
    return us.SplineDecorrelator().fit(train.score, train.protected)


@pytest.mark.filterwarnings("ignore:.*outside the fitted")
def test_the_band_covers_what_the_map_is_off_by(toy, spline):
    """The truth is known: what passes the learned cut at each mass, against what should."""
    events = Events.prepare(spline, toy.score, toy.protected, toy.label, None, ["mass"], 20)
    (error,) = map_errors(events, spline, [0.5])
    mass = events.axes[0].values[error.events]
    off = (1 - toy.cdf(spline.threshold(0.5, mass), mass)) / 0.5 - 1
    pulls = off / error.relative
    assert 0.3 < np.sqrt(np.mean(pulls**2)) < 2
    assert np.all(error.in_bins(events.axes[0]) > 0)


def test_a_method_without_errors_has_no_band(toy, exact):
    events = Events.prepare(exact, toy.score, toy.protected, toy.label, None, ["mass"], 20)
    assert map_errors(events, exact, [0.5]) == []
