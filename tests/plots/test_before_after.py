import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from unsculpt import metrics
from unsculpt.datasets import toys
from unsculpt.plots import before_after


@pytest.fixture
def toy():
    return toys.tagger(5000, 1000, seed=1)


@pytest.fixture
def flat(toy):
    return toy.cdf(toy.score, toy.protected)


@pytest.fixture
def weight(toy):
    """Mostly positive, a tenth negative, as generators give them."""
    random = np.random.default_rng(2)
    return random.uniform(0.5, 2, len(toy.score)) * random.choice(
        [1, -1], len(toy.score), p=[0.9, 0.1]
    )


def stairs(axes):
    return [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]


def panels(figure):
    """The spectrum, its ratio and the two scores, drawn: many a warning comes only then."""
    FigureCanvasAgg(figure).draw()
    return figure.axes


def test_returns_a_figure(toy, flat):
    assert isinstance(before_after(toy.score, flat, toy.label, toy.protected), Figure)


@pytest.mark.parametrize("weighted", [False, True])
def test_spectrum_is_the_histogram_of_what_passes(toy, flat, weight, weighted):
    weight = weight if weighted else None
    figure = before_after(
        toy.score, flat, toy.label, toy.protected, sample_weight=weight, efficiency=0.3, bins=20
    )
    edges = metrics.bin_edges(toy.protected[toy.background], 20)
    selections = [toy.background]
    for score in (toy.score, flat):
        cut = metrics.threshold(score, toy.label, efficiency=0.3, sample_weight=weight)
        selections.append(toy.background & (score >= cut))
    for drawn, selected in zip(stairs(panels(figure)[0]), selections, strict=True):
        weights = weight[selected] if weighted else None
        content = np.histogram(toy.protected[selected], edges, weights=weights)[0]
        np.testing.assert_allclose(drawn.values, content / content.sum())
        np.testing.assert_array_equal(drawn.edges, edges)


def test_errors_are_those_of_weighted_counts(toy, flat, weight):
    figure = before_after(toy.score, flat, toy.label, toy.protected, sample_weight=weight, bins=5)
    cut = metrics.threshold(flat, toy.label, sample_weight=weight)
    passes = toy.background & (flat >= cut)
    edges = metrics.bin_edges(toy.protected[toy.background], 5)
    content, everything = (
        np.histogram(toy.protected[s], edges, weights=weight[s])[0]
        for s in (passes, toy.background)
    )
    variance = np.histogram(toy.protected[passes], edges, weights=weight[passes] ** 2)[0]
    bars = figure.axes[1].containers[1].lines[2][0].get_segments()
    drawn = [(high - low) / 2 for (_, low), (_, high) in bars]
    scale = everything.sum() / content.sum() / everything
    np.testing.assert_allclose(drawn, np.sqrt(variance) * scale)


def test_slices_hold_every_event_once():
    """The heaviest event has the highest score, alone in its bin."""
    mass = np.r_[np.arange(100.0), 50]
    score = np.r_[np.linspace(0, 1, 99), 5, 3]
    label = np.repeat([0, 1], [100, 1])
    figure = before_after(score, score, label, mass, bins=10)
    last = stairs(panels(figure)[2])[-1]
    assert last.values[-1] * np.diff(last.edges)[-1] == pytest.approx(1 / 20)


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_and_labels_follow_the_data(weighted):
    random = np.random.default_rng(3)
    label = np.repeat([0, 1], [3000, 500])
    mass = random.uniform(size=3500)
    margin = np.clip(random.normal(3 * mass - 2 + 2 * label, 1.0), -5, 5)
    weight = random.exponential(size=3500) if weighted else None
    figure = before_after(
        margin, random.uniform(size=3500), label, mass, name="share", sample_weight=weight
    )
    spectrum, ratio, *scores = panels(figure)
    for axes in (spectrum, *scores):
        low, high = axes.get_ylim()
        for values, edges, _ in stairs(axes):
            assert low < values[values > 0].min() < values.max() < high
            assert axes.get_xlim() == pytest.approx((edges[0], edges[-1]))
    assert ratio.get_ylim() == (0, 2)
    drawn = [line for line in ratio.lines if line.get_marker() == "."]
    arrows = [line for line in ratio.lines if line.get_marker() == "^"]
    beyond = [np.sum(line.get_ydata() > 2) for line in drawn]
    assert [len(line.get_ydata()) for line in arrows] == beyond
    assert max(beyond) > 0
    assert spectrum.get_xlim() == pytest.approx((mass[label == 0].min(), mass[label == 0].max()))
    assert scores[0].get_ylim() == scores[1].get_ylim()
    names = [text.get_text() for text in scores[0].get_legend().get_texts()]
    assert len(set(names)) == 5


def test_shared_values_and_a_cut_that_no_background_passes():
    label = np.repeat([0, 1], [60, 20])
    mass = np.tile([0.0, 0, 0, 1], 20)
    figure = before_after(label, label / 2, label, mass, bins=4)
    assert len(stairs(panels(figure)[2])) == 1


def test_wrong_lengths_are_named(toy, flat):
    with pytest.raises(ValueError, match="sample_weight has 3 events"):
        before_after(toy.score, flat, toy.label, toy.protected, sample_weight=[1, 1, 1])
