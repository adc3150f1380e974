"""Data beside simulation."""

import numpy as np
import pytest

from unsculpt.report.data import Data, data_pictures
from unsculpt.report.events import Events


def test_data_that_is_simulation_is_like_it(exact, toy):
    events = Events.prepare(exact, toy.score, toy.protected, toy.label, None, ["mass"], 50)
    background = toy.label == 0
    same = Data.prepare(events, (toy.score[background], toy.protected[background]))
    spectra, efficiencies = data_pictures(events, same)
    assert (spectra.slug, efficiencies.slug) == ("data-spectrum", "data-efficiency")
    overall = efficiencies.tables[0].rows
    assert [row[2].split()[0] for row in overall] == ["1.000", "1.000", "1.00"]
    assert np.allclose([float(row[1].split()[0]) for row in overall], [0.5, 0.1, 0.01], atol=1e-3)


def test_data_without_events_is_refused(exact, toy):
    events = Events.prepare(exact, toy.score, toy.protected, toy.label, None, ["mass"], 50)
    with pytest.raises(ValueError, match="expected a positive total"):
        Data.prepare(events, (np.empty(0), np.empty(0)))
    with pytest.raises(ValueError, match="data holds scores and protected"):
        Data.prepare(events, (toy.score,))
