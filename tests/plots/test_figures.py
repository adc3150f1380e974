import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import StepPatch
from sklearn.metrics import roc_auc_score

from unsculpt import metrics, plots
from unsculpt.datasets import toys
from unsculpt.plots.axis import Axis
from unsculpt.plots.beside import Beside, beside
from unsculpt.plots.efficiency import background_efficiencies
from unsculpt.plots.in_bins import binomial_error
from unsculpt.plots.separation import separation_in_bins


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(5000, 2000, seed=1)


@pytest.fixture(scope="module")
def scores(toy):
    flat = toy.cdf(toy.score, toy.protected)
    return {"raw": toy.score, "flat": flat, "square": flat**2}


@pytest.fixture
def weight(toy):
    random = np.random.default_rng(2)
    return random.uniform(0.5, 2, len(toy.score)) * random.choice(
        [1, -1], len(toy.score), p=[0.9, 0.1]
    )


def drawn(figure):
    """The panels, drawn: many a warning comes only then."""
    FigureCanvasAgg(figure).draw()
    return figure.axes


figures = [plots.spectrum, plots.residuals, plots.efficiency, plots.score_slices, plots.separation]


@pytest.mark.parametrize("draw", figures)
@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_any_number_of_scores_numbers_or_categories_and_weights(draw, kind, toy, scores, weight):
    protected = toy.protected if kind == "numbers" else np.where(toy.protected > 90, "mm", "ee")
    settings = {name: mpl.rcParams[name] for name in mpl.rcParams}
    axes = drawn(draw(scores, toy.label, protected, sample_weight=weight, name="channel"))
    assert settings == mpl.rcParams
    if kind == "categories" and draw is not plots.score_slices:
        assert [text.get_text() for text in axes[-1].get_xticklabels()] == ["ee", "mm"]


@pytest.mark.parametrize("draw", figures)
def test_wrong_lengths_are_named(draw, toy, scores):
    with pytest.raises(ValueError, match="mass has shape"):
        draw(scores, toy.label, toy.protected[:5], name="mass")


@pytest.mark.parametrize("name", ["a$b_c", "x_{$", r"$\frac", "$m_J$ [GeV]"])
def test_dollars_in_a_name_are_a_formula_or_dollars(name, toy, scores):
    axes = drawn(plots.spectrum(scores, toy.label, toy.protected, name=name))
    assert any(panel.get_xlabel() == name for panel in axes)


def test_the_spectrum_has_a_line_for_each_score(toy, scores):
    upper, _ = drawn(plots.spectrum(scores, toy.label, toy.protected, efficiency=0.3))
    steps = [patch.get_data() for patch in upper.patches if isinstance(patch, StepPatch)]
    cut = metrics.threshold(scores["flat"], toy.label, efficiency=0.3)
    passes = toy.background & (scores["flat"] >= cut)
    content = np.histogram(toy.protected[passes], steps[0].edges)[0]
    np.testing.assert_allclose(steps[2].values, content / passes.sum())


def test_efficiencies_average_to_the_working_point(toy, scores, weight):
    axis = Axis.from_events(toy.protected, toy.label, 8, "mass")
    curves = background_efficiencies(
        scores, toy.label, axis, sample_weight=weight, efficiencies=[0.2]
    )
    total = np.histogram(toy.protected[toy.background], axis.edges, weights=weight[toy.background])[
        0
    ]
    for panel in curves.values():
        (curve,) = panel.values()
        # A cut keeps whole events, so a little more than asked for.
        assert np.average(curve.value, weights=total) == pytest.approx(0.2, abs=0.002)
        assert np.all(curve.low <= curve.value)


def test_residuals_stay_in_view_and_what_is_beyond_has_an_arrow(toy, scores):
    two = {name: scores[name] for name in ("raw", "flat")}
    bands, bins = [np.full(21, 0.01)] * 3, np.linspace(20, 300, 22)  # the first ones are empty
    figure = plots.residuals(two, toy.label, toy.protected, map_errors=bands, bins=bins)
    panels = drawn(figure)
    assert len(panels) == 3
    for axes in panels:
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "linear"
        assert low + high == pytest.approx(2)
        arrows = [line for line in axes.lines if line.get_marker() in ("^", "v")]
        assert any(len(line.get_xdata()) for line in arrows)  # the raw score sculpts a lot
        assert all(low < y < high for line in arrows for y in line.get_ydata())


def test_the_plane_shows_where_two_attributes_together_are_not_flat():
    """Each of them alone is flat here, and their corners are not."""
    random = np.random.default_rng(1)
    x, y, score = random.uniform(size=(3, 20_000))
    corner = (x > 0.5) == (y > 0.5)
    score = score + 0.05 * np.where(corner, 1, -1)
    figure = plots.plane({"score": score}, np.zeros(len(x)), x, y, efficiency=0.2, bins=2)
    (mesh,) = drawn(figure)[0].collections
    pulls = mesh.get_array()
    assert np.all(np.diag(pulls) > 5)
    assert np.all(np.diag(pulls[::-1]) < -5)


def test_a_tail_does_not_cover_the_other_cells_of_the_plane():
    x, y = np.random.default_rng(1).exponential(size=(2, 20_000))
    (axes, _) = plots.plane({"score": x + y}, np.zeros(len(x)), x, y).axes
    (mesh,) = axes.collections
    assert len({round(width, 6) for width in np.diff(mesh.get_coordinates()[0, :, 0])}) == 1
    assert axes.get_xticklabels()[5].get_text() == f"{np.median(x):.4g}"


def test_separation_is_that_of_scikit_learn_in_each_bin(toy, scores):
    axis = Axis.from_events(toy.protected, toy.label, [70, 80, 95], "mass")
    panels = separation_in_bins({"raw": toy.score}, toy.label, axis)
    for i, (low, high) in enumerate([(70, 80), (80, 95)]):
        inside = (toy.protected >= low) & (toy.protected < high)
        area = roc_auc_score(toy.label[inside], toy.score[inside])
        assert panels["AUC"]["raw"].value[i] == pytest.approx(area)
        cut = metrics.threshold(toy.score, toy.label)
        rejection = 1 / np.mean(toy.score[inside & toy.background] >= cut)
        assert panels["background rejection"]["raw"].value[i] == pytest.approx(rejection)
        efficiency = np.mean(toy.score[inside & ~toy.background] >= cut)
        assert panels["signal efficiency"]["raw"].value[i] == pytest.approx(efficiency)


def test_errors_are_about_those_of_the_bootstrap(toy):
    axis = Axis.from_events(toy.protected, toy.label, [70, 80, 95], "mass")
    panels = separation_in_bins({"raw": toy.score}, toy.label, axis)
    for name, metric in (
        ("AUC", metrics.auc_in_bins),
        ("background rejection", metrics.rejection_in_bins),
        ("signal efficiency", metrics.efficiency_in_bins),
    ):
        events = (toy.score, toy.label, toy.protected)
        expected = metrics.bootstrap(metric, *events, bins=axis.edges, repeats=100)
        ours = panels[name]["raw"]
        np.testing.assert_allclose(ours.high - ours.low, expected.high - expected.low, rtol=0.5)


def test_no_efficiency_of_a_few_events_is_known_exactly():
    none, every, some, unknown = binomial_error(np.array([0, 1, 0.3, np.nan]), np.full(4, 10.0))
    assert none == pytest.approx(every)
    assert 0.05 < none < 0.11  # 0.11 is the upper limit of 68% on none of ten
    assert some == pytest.approx((0.3 * 0.7 / 10) ** 0.5)
    assert np.isnan(unknown)


def test_bins_do_not_stretch_to_a_few_events_far_out():
    mass = np.r_[np.linspace(50, 150, 5000), 1e4]
    axis = Axis.from_events(mass, np.zeros(5001), 50, "mass")
    assert axis.edges[-1] < 151
    assert Axis.from_events(mass[:-1], np.zeros(5000), 50, "mass").edges[-1] == 150


def test_cuts_and_losses_are_drawn_as_given():
    (axes,) = drawn(plots.cut({"1%": [0.3, 0.4]}, [50, 60], score="tagger"))
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[50, 0.3], [60, 0.4]])
    (axes,) = drawn(plots.cut({"1%": [0.3, 0.4]}, ["ee", "mm"]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["ee", "mm"]
    losses = np.array([[3.0, 5], [1, 3]])
    (axes,) = drawn(plots.history({"training": losses, "one model": [4, 2]}))
    means = [line.get_ydata().tolist() for line in axes.lines if line.get_alpha() is None]
    assert means == [[4, 2], [4, 2]]


def test_an_axis_without_a_power_of_ten_has_plain_numbers():
    points = [
        metrics.WorkingPoint(x, y, metrics.Ideal(60.0, 5.0)) for x, y in ((8.0, 25.0), (9.0, 45.0))
    ]
    (axes,) = drawn(plots.trade_off({"tagger": points}))
    texts = {tick.get_text() for tick in axes.yaxis.get_ticklabels(which="both")}
    assert {"30", "40"} <= texts


def test_a_per_cent_is_no_power_of_ten():
    axis = Axis.from_events(np.linspace(50, 150, 5), np.zeros(5), 4, "mass")
    share = metrics.Interval(*np.outer([1.0, 0.9, 1.1], np.full(4, 0.015)))
    upper, _ = drawn(beside({"1% kept": Beside(share, share)}, axis, "efficiency"))
    assert not upper.yaxis.get_offset_text().get_text()
