"""The statistical error of networks: what replicas say, and the models that come of it."""

import numpy as np
import pytest
from sklearn.base import clone

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.common.replicas import resampled
from unsculpt.export import to_onnx

SHORT = {"members": 2, "epochs": 2, "batch_size": 64}
FLOW = us.FlowDecorrelator(**SHORT)
QUANTILES = us.QuantileDecorrelator(continuous=True, **SHORT)
REPLICAS = 3


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(500, 0, seed=3)


@pytest.fixture(
    scope="module", params=[FLOW, pytest.param(QUANTILES, marks=pytest.mark.slow)], ids=repr
)
def model(request, toy):
    """With replicas."""
    return clone(request.param).set_params(replicas=REPLICAS).fit(toy.score, toy.protected)


@pytest.fixture(scope="module")
def plain(model, toy):
    """The same without."""
    return clone(model).set_params(replicas=0).fit(toy.score, toy.protected)


def test_replicas_do_not_change_the_map(model, plain, toy):
    expected = plain.transform(toy.score, toy.protected)
    assert np.array_equal(model.transform(toy.score, toy.protected), expected)


@pytest.mark.parametrize("ask", [lambda m: m.uncertainty([0.5], [80.0]), lambda m: m.variations(1)])
def test_without_them_the_error_says_what_to_do(plain, ask):
    with pytest.raises(ValueError, match=r"no replicas.*fit with replicas=20, which takes"):
        ask(plain)


@pytest.mark.parametrize("number", [-1, 1.5, "3", True])
def test_how_many_is_a_whole_number(toy, number):
    with pytest.raises(ValueError, match="replicas is"):
        us.FlowDecorrelator(replicas=number).fit(toy.score, toy.protected)


@pytest.mark.parametrize("number", [0, 1.5, REPLICAS + 1])
def test_no_more_variations_than_replicas(model, number):
    with pytest.raises(ValueError, match="n is"):
        model.variations(number)


def test_squared_shifts_sum_to_that_of_the_uncertainty(model, toy):
    pairs = model.variations(REPLICAS)
    share = [up.share_ for up, _ in pairs]
    assert np.all(np.diff(share) <= 0)
    assert sum(share) == pytest.approx(1)
    bulk = np.abs(model.transform(toy.score, toy.protected) - 0.5) < 0.4
    events = toy.score[bulk], toy.protected[bulk]
    shifts = [(up.transform(*events) - down.transform(*events)) / 2 for up, down in pairs]
    ratio = np.sqrt((np.array(shifts) ** 2).sum(axis=0)) / model.uncertainty(*events)
    assert np.all(np.abs(np.quantile(ratio, [0.05, 0.95]) - 1) < 0.3)  # the logit is not linear
    assert np.median(ratio) == pytest.approx(1, abs=0.05)


def test_bad_input_is_named_and_counted(model):
    with pytest.raises(ValueError, match="scores is NaN or infinite in 1 of 2 events"):
        model.uncertainty([0.5, np.nan], [80.0, 80.0])
    with pytest.raises(ValueError, match="protected has 1 events but scores has 2"):
        model.uncertainty([0.5, 0.6], [80.0])


def test_a_variation_stays_a_map(model, toy):
    scores = np.linspace(toy.score.min() - 1, toy.score.max() + 1, 2_000)
    for varied in model.variations(1)[0]:
        flat = varied.transform(scores, np.full(len(scores), 80.0))
        assert np.all(np.diff(flat) >= 0)
        assert flat[0] >= 0
        assert flat[-1] <= 1
        cut = varied.threshold(0.1, [80.0])
        np.testing.assert_allclose(varied.transform(cut, [80.0]), 0.9, rtol=0, atol=1e-9)


def test_files_keep_them(model, toy, tmp_path):
    model.save(tmp_path / "w.unsculpt")
    loaded = us.load(tmp_path / "w.unsculpt")
    expected = model.uncertainty(toy.score, toy.protected)
    assert np.all(expected > 0)
    assert np.array_equal(loaded.uncertainty(toy.score, toy.protected), expected)
    ((up, _),) = loaded.variations(1)
    up.save(tmp_path / "up.unsculpt")
    loaded_up = us.load(tmp_path / "up.unsculpt")
    moved = up.transform(toy.score, toy.protected)
    assert np.array_equal(loaded_up.transform(toy.score, toy.protected), moved)
    assert loaded_up.share_ == up.share_
    assert np.abs(moved - model.transform(toy.score, toy.protected)).mean() > 1e-4


def test_onnx_has_the_variations(model, toy, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    to_onnx(model, tmp_path / "w.onnx", variations=1)
    session = onnxruntime.InferenceSession(tmp_path / "w.onnx")
    names = [given.name for given in session.get_inputs()]
    outputs = session.run(None, dict(zip(names, (toy.score, toy.protected), strict=True)))
    models = [model, *model.variations(1)[0]]
    for output, own in zip(outputs, models, strict=True):
        expected = own.transform(toy.score, toy.protected)
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-9)


def test_a_variation_of_a_flow_has_no_density(toy):
    flow = clone(FLOW).set_params(replicas=REPLICAS).fit(toy.score, toy.protected)
    with pytest.raises(ValueError, match="has no density; ask the nominal model"):
        flow.variations(1)[0][0].log_prob([0.5], [80.0])


def test_events_are_resampled_by_poisson_numbers():
    counts = resampled(40_000, 2, seed=5)
    assert np.array_equal(counts, resampled(40_000, 2, seed=5))
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.03)
    np.testing.assert_allclose(counts.var(axis=0), 1, atol=0.05)
    assert abs(np.corrcoef(counts.T)[0, 1]) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FLOW, QUANTILES], ids=repr)
def test_two_attributes_and_two_scores(kind):
    toy = toys.two_attributes(500, 0, seed=1)
    scores = np.column_stack([toy.score, -toy.score])
    model = clone(kind).set_params(replicas=REPLICAS).fit(scores, toy.protected)
    error = model.uncertainty(scores, toy.protected)
    assert error.shape == scores.shape
    assert np.all((error > 0) & (error < 0.5))
    with pytest.raises(ValueError, match="variations of networks are for one continuous"):
        model.variations(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [us.FlowDecorrelator, us.QuantileDecorrelator])
def test_the_error_is_that_of_the_sample(kind):
    """Four times the events halve it, negative weights enlarge it, larger ones do not matter."""

    def error(events, weight=None):
        toy = toys.smooth(events, 0, seed=1)
        model = kind(members=1, replicas=10, epochs=10, batch_size=100)
        model.fit(toy.score, toy.protected, sample_weight=weight)
        return np.sqrt(np.mean(model.uncertainty(median, at) ** 2))

    at = np.linspace(0.1, 0.9, 9)
    median = np.full(9, 0.5)
    few = error(1_000)
    signs = np.where(np.random.default_rng(0).random(1_000) < 0.2, -1.0, 1.0)
    assert 1.3 < few / error(4_000) < 3
    assert error(1_000, signs) > 1.2 * few
    assert error(1_000, np.full(1_000, 3.0)) == pytest.approx(few, rel=0.01)
