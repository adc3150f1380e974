"""The curve from a raw score to a flat one: metric, figure and section of the report."""

import numpy as np
import pytest

import unsculpt as us
from unsculpt import metrics, plots
from unsculpt.datasets import toys
from unsculpt.plots.style import ALL, FLAT
from unsculpt.report.events import Events
from unsculpt.report.trade_off import trade_off

pytestmark = pytest.mark.filterwarnings("ignore:.*outside the fitted")


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(8_000, 2_000, seed=2)


@pytest.fixture(scope="module")
def spline():
    train = toys.tagger(8_000, 0, seed=1)
    return us.SplineDecorrelator().fit(train.score, train.protected)


def test_each_point_is_that_of_its_amount(toy, spline):
    given = toy.score, toy.protected
    flat = spline.move(*given, to="barycentre")
    points = metrics.trade_off(
        toy.score, flat, toy.label, toy.protected, amounts=[0, 0.4, 1], repeats=0
    )
    for amount, point in zip([0, 0.4, 1], points, strict=True):
        score = spline.move(*given, to="barycentre", amount=amount)
        assert point.rejection == pytest.approx(metrics.rejection(score, toy.label))
        inverse = metrics.inverse_jsd(score, toy.label, toy.protected)
        assert point.inverse_jsd == pytest.approx(inverse)
    assert points[0].rejection > points[2].rejection
    assert points[0].inverse_jsd < points[1].inverse_jsd < points[2].inverse_jsd
    # A decorrelated score has one colour in all figures.
    (axes,) = plots.trade_off({"decorrelated score": points}).axes
    assert {line.get_color() for line in axes.lines} == {ALL, FLAT}


@pytest.mark.parametrize("amounts", [[-0.1], [0, 1.1], [np.nan]])
def test_amounts_that_are_none(toy, amounts):
    with pytest.raises(ValueError, match=r"amounts is .*; expected numbers from 0"):
        metrics.trade_off(toy.score, toy.score, toy.label, toy.protected, amounts=amounts)


def test_scores_that_do_not_fit_together(toy):
    events = toy.label, toy.protected
    with pytest.raises(ValueError, match=r"flat has 7 events but .* has"):
        metrics.trade_off(toy.score, toy.score[:7], *events)
    with pytest.raises(ValueError, match="flat is NaN or infinite in 1 of"):
        metrics.trade_off(toy.score, np.append(np.nan, toy.score[1:]), *events)
    with pytest.raises(ValueError, match=r"flat has shape .*; expected one column"):
        metrics.trade_off(toy.score, toy.score[:, None], *events)


def test_the_section(toy, spline):
    events = Events.prepare(spline, *(toy.score, toy.protected, toy.label), None, ["m"], 50)
    picture = trade_off(events, 0.5)
    rows = picture.tables[0].rows
    assert [row[0] for row in rows] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert float(rows[0][1]) == pytest.approx(metrics.rejection(toy.score, toy.label), rel=0.01)
    drawn = picture.figure.axes[0].lines[1]
    assert len(drawn.get_xdata()) == 6


def test_there_is_none_without_signal_or_a_distribution(toy, spline):
    background = toy.label == 0
    alone = toy.score[background], toy.protected[background], None
    assert trade_off(Events.prepare(spline, *alone, None, ["m"], 50), 0.5) is None
    knn = us.KNNDecorrelator().fit(toy.score[background], toy.protected[background])
    given = toy.score, toy.protected, toy.label
    assert trade_off(Events.prepare(knn, *given, None, ["m"], 50), 0.5) is None


def test_the_figure_has_a_curve_a_score(toy):
    points = metrics.trade_off(
        toy.score, toy.cdf(toy.score, toy.protected), toy.label, toy.protected, amounts=[0, 1]
    )
    figure = plots.trade_off({"a": points, "b": points[:1]}, efficiency=0.3)
    assert figure.axes[0].get_xlabel() == "R30"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["ideal", "a", "b"]
