from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys


@pytest.fixture(scope="module")
def toy():
    return toys.smooth(1000, 0, seed=1)


def new():
    """Two methods that a fit in another order would tell apart."""
    return us.KNNDecorrelator(0.3), us.SplineDecorrelator()


@pytest.fixture(scope="module")
def chain(toy):
    first, second = new()
    return first.then(second).fit(toy.score, toy.protected)


def test_the_second_is_fitted_on_what_the_first_gives(chain, toy):
    first, second = new()
    middle = first.fit(toy.score, toy.protected).transform(toy.score, toy.protected)
    want = second.fit(middle, toy.protected).transform(middle, toy.protected)
    np.testing.assert_array_equal(chain.transform(toy.score, toy.protected), want)


def test_a_chain_inside_a_chain_is_fitted_in_place(toy):
    a, b, c = us.KNNDecorrelator(0.5), *new()
    us.Chain([us.Chain([a, b]), c]).fit(toy.score, toy.protected)
    flat = clone(a).then(clone(b)).then(clone(c)).fit(toy.score, toy.protected)
    for one, other in zip((a, b), flat.steps, strict=False):
        moved = (step.transform(toy.score, toy.protected) for step in (one, other))
        np.testing.assert_array_equal(*moved)
    np.testing.assert_array_equal(c.counts_, flat.steps[2].counts_)


def test_weights_reach_every_step(toy):
    weight = toy.protected + 0.1
    chain = us.Chain(list(new())).fit(toy.score, toy.protected, sample_weight=weight)
    first, second = chain.steps
    alone = clone(first).fit(toy.score, toy.protected, sample_weight=weight)
    middle = first.transform(toy.score, toy.protected)
    np.testing.assert_array_equal(middle, alone.transform(toy.score, toy.protected))
    alone = clone(second).fit(middle, toy.protected, sample_weight=weight)
    np.testing.assert_array_equal(
        second.transform(middle, toy.protected), alone.transform(middle, toy.protected)
    )


def test_the_inverse_leads_back(chain, toy):
    flat = chain.transform(toy.score, toy.protected)
    back = chain.inverse_transform(flat, toy.protected)
    np.testing.assert_allclose(back, toy.score, atol=1e-9 * np.ptp(toy.score))


def test_a_threshold_is_a_cut_on_the_first_score(chain, toy):
    cut = chain.threshold(0.2, toy.protected)
    passed = chain.transform(toy.score, toy.protected) > 0.8
    assert np.mean((toy.score > cut) == passed) > 0.999


def test_longer_chains_are_flat():
    a, b, c = (us.FlowDecorrelator(seed=s) for s in range(3))
    assert a.then(b).then(c).steps == [a, b, c]
    assert a.then(b.then(c)).steps == [a, b, c]


def test_a_decorrelator_on_top_of_a_classifier_is_one_model(tmp_path):
    rng = np.random.default_rng(0)
    mass, label = rng.uniform(size=1000), rng.integers(2, size=1000)
    label[[mass.argmin(), mass.argmax()]] = 0  # nothing is outside the fitted range
    features = np.column_stack([mass + label, rng.normal(size=1000) + label])
    classifier = Classifier(epochs=2, batch_size=250).fit(features, label)
    background = label == 0
    chain = classifier.then(us.SplineDecorrelator())
    chain.fit(features[background], mass[background])

    score = classifier.predict_proba(features)[:, 1]
    spline = us.SplineDecorrelator().fit(score[background], mass[background])
    want = spline.transform(score, mass)
    np.testing.assert_array_equal(chain.transform(features, mass), want)
    chain.save(tmp_path / "chain.unsculpt")
    again = us.load(tmp_path / "chain.unsculpt")
    np.testing.assert_array_equal(again.transform(features, mass), want)
    with pytest.raises(TypeError, match="Classifier has no inverse, so neither has the chain"):
        chain.inverse_transform(want, mass)


def test_a_classifier_has_to_be_fitted_before(toy):
    with pytest.raises(NotFittedError):
        Classifier().then(us.FlowDecorrelator()).fit(toy.score[:, None], toy.protected)


def test_a_stranger_on_top_is_refused():
    with pytest.raises(TypeError, match="then got str; expected a decorrelator or a Classifier"):
        us.FlowDecorrelator().then("flow")


def test_an_empty_chain_is_refused(toy):
    with pytest.raises(ValueError, match="steps is empty"):
        us.Chain([]).fit(toy.score, toy.protected)


def test_what_is_outside_is_marked_in_all_steps(toy):
    steps = [us.SplineDecorrelator(outside="nan") for _ in range(3)]
    chain = steps[0].then(steps[1]).then(steps[2]).fit(toy.score, toy.protected)
    want = chain.transform(toy.score[:2], toy.protected[:2])
    with pytest.warns(UserWarning, match="outside the fitted"):
        flat = chain.transform(np.append(toy.score[:2], 0.0), np.append(toy.protected[:2], 99.0))
    np.testing.assert_array_equal(flat, [*want, np.nan])
    with pytest.warns(UserWarning, match="outside the fitted"):
        assert np.isnan(chain.transform([0.0], [99.0])).all()
    with pytest.warns(UserWarning, match="outside the fitted"):
        assert np.isnan(chain.threshold(0.1, [99.0])).all()
    with pytest.warns(UserWarning, match="outside the fitted"):
        assert np.isnan(chain.inverse_transform([0.5], [99.0])).all()


def test_what_is_outside_is_said_to_all_steps(toy):
    """As `unsculpt apply --outside` says it to a copy."""
    chain = us.SplineDecorrelator().then(us.SplineDecorrelator()).fit(toy.score, toy.protected)
    other = copy(chain)
    other.outside = "nan"
    assert [step.outside for step in (*chain.steps, other, chain)] == [
        "clip",
        "clip",
        "nan",
        "clip",
    ]
    with pytest.warns(UserWarning, match="they become NaN"):
        assert np.isnan(other.transform([0.0], [99.0])).all()


@pytest.mark.slow
def test_marked_probabilities_are_passed_on():
    toy = toys.three_classes(500, 0, seed=1)
    quick = {"members": 1, "epochs": 1, "outside": "nan"}
    chain = us.TransportDecorrelator(**quick).then(us.TransportDecorrelator(**quick))
    chain.fit(toy.score, toy.protected)
    with pytest.warns(UserWarning, match="outside the fitted"):
        flat = chain.transform(toy.score[:2], [toy.protected[0], 1e4])
    assert np.isnan(flat[1]).all()
    assert flat[0].sum() == pytest.approx(1)


def test_a_table_is_not_a_step():
    table = us.TableDecorrelator(us.SplineDecorrelator(), protected=[0])
    with pytest.raises(TypeError, match=r"then got TableDecorrelator.* goes around the whole"):
        us.SplineDecorrelator().then(table)
    assert not hasattr(table, "then")


def test_one_model_cannot_be_two_steps(toy):
    spline = us.SplineDecorrelator()
    with pytest.raises(ValueError, match="holds one model twice"):
        spline.then(spline).fit(toy.score, toy.protected)


def test_a_model_that_is_moved_in_another_step_is_a_model_of_its_own(toy):
    """Each is fitted on what it gets, whoever made them of one object."""
    spline = us.SplineDecorrelator()
    one = spline.then(us.Moved(spline, to=0.5)).fit(toy.score, toy.protected)
    two = us.SplineDecorrelator().then(us.Moved(us.SplineDecorrelator(), to=0.5))
    two.fit(toy.score, toy.protected)
    flat = (chain.transform(toy.score, toy.protected) for chain in (one, two))
    np.testing.assert_array_equal(*flat)


def test_a_chain_has_the_threshold_of_its_last_step(toy):
    chain = us.SplineDecorrelator().then(us.DDTDecorrelator()).fit(toy.score, toy.protected)
    with pytest.raises(TypeError, match="DDTDecorrelator has no threshold, so neither has"):
        chain.threshold(0.1, toy.protected)
