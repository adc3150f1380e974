"""The section on the ABCD method."""

import numpy as np
import pytest

import unsculpt as us
from unsculpt import abcd
from unsculpt.report.abcd import abcd_section
from unsculpt.report.events import Events

pytestmark = pytest.mark.filterwarnings("ignore:.*outside the fitted")


def draw(background, signal, seed):
    """Two scores that know of each other, and labels."""
    rng = np.random.default_rng(seed)
    first, noise = rng.normal(size=(2, background + signal))
    label = np.repeat([0, 1], [background, signal])
    return first + 2 * label, np.tanh(first) + noise + 2 * label, label


@pytest.fixture(scope="module")
def spline():
    first, second, _ = draw(8_000, 0, seed=1)
    return us.SplineDecorrelator().fit(second, first)


def test_raw_scores_do_not_close_and_decorrelated_ones_do(spline):
    first, second, label = draw(8_000, 500, seed=2)
    events = Events.prepare(spline, second, first, label, None, ["first [GeV]"], 20)
    picture = abcd_section(events, "protected")
    predictions, raw, flat = picture.tables
    assert picture.title == "ABCD with first"
    assert predictions.header[:3] == ["kept by each cut", "observed in A", "predicted"]
    assert max(abs(float(row[4])) for row in predictions.rows) < 3
    # The second row: both cuts keep a fifth.
    observed, predicted = (
        float(predictions.rows[1][i].split()[0].replace(",", "")) for i in (1, 2)
    )
    background = label == 0
    new = spline.transform(second, first)[background]
    cuts = tuple(float(np.quantile(x, 0.8)) for x in (first[background], new))
    found = abcd.closure(first[background], new, cuts)
    assert observed == pytest.approx(found.observed, abs=2)
    assert predicted == pytest.approx(found.predicted, rel=0.01)
    assert float(raw.rows[1][2].split()[0]) > 1.5
    closed, error = (float(part) for part in flat.rows[1][2].split("±"))
    assert abs(closed - 1) < 3 * error


def test_the_error_of_the_map_is_in_the_prediction(spline):
    first, second, _ = draw(8_000, 0, seed=2)
    events = Events.prepare(spline, second, first, None, None, ["first"], 20)
    (row, *_) = abcd_section(events, "protected").tables[0].rows
    error = float(row[2].split("±")[1].replace(",", ""))
    new = spline.transform(second, first)
    plain = abcd.closure(first, new, (np.median(first), np.median(new))).predicted_error
    assert error > plain
    assert len(row) == 5  # nothing on signal


def test_a_region_that_a_varied_map_empties(spline):
    """Of a few events the tightest cuts have no row; the others stay."""
    first, second, _ = draw(60, 0, seed=3)
    events = Events.prepare(spline, second, first, None, None, ["first"], 20)
    rows = abcd_section(events, "protected").tables[0].rows
    assert [row[0] for row in rows][:3] == ["50%", "20%", "10%"]
    assert len(rows) < 6


@pytest.mark.parametrize("attribute", ["mass", ""])
def test_an_attribute_that_is_not_there(spline, attribute):
    first, second, _ = draw(1000, 0, seed=2)
    events = Events.prepare(spline, second, first, None, None, None, 20)
    with pytest.raises(ValueError, match=r"abcd is .*; expected the attribute .*one of protected"):
        abcd_section(events, attribute)


def test_is_asked_for_in_vain_before_pictures_are_drawn(spline, tmp_path, monkeypatch):
    monkeypatch.setattr("unsculpt.report.write.pictures", lambda *_: pytest.fail("drawn"))
    first, second, _ = draw(1000, 0, seed=2)
    with pytest.raises(ValueError, match="abcd is 'mass'"):
        us.report.write_report(tmp_path / "a.html", spline, second, first, abcd="mass")
    assert not list(tmp_path.iterdir())
