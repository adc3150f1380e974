from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from unsculpt.classifiers.adversary import Adversary, reverse_gradient
from unsculpt.classifiers.network import Network
from unsculpt.classifiers.objective import Contest, Objective
from unsculpt.penalties import distance_correlation, moment_decomposition


@cache
def network(scores=1):
    new = eqx.filter_jit(partial(Network.new, (2, 8, scores), "relu"))
    return new(key=jax.random.key(0))


@cache
def adversary(attributes=1):
    return eqx.filter_jit(partial(Adversary.new, 1, attributes))(key=jax.random.key(0))


@eqx.filter_jit
def log_prob(adversary, scores, attributes):
    return adversary.log_prob(scores, attributes)


def batch(n=300, classes=2, attributes=1):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype("f4")
    protected = (x[:, :1] + rng.normal(size=(n, attributes))).astype("f4")
    return (x, rng.integers(classes, size=n), protected), rng.uniform(0.5, 1.5, n).astype("f4")


def loss(objective, contest, data, weight, alpha=0.0):
    return eqx.filter_jit(objective)(contest, *jax.tree.map(jnp.asarray, (data, weight)), alpha)


def test_two_classes_give_the_binary_cross_entropy():
    (x, y, _), weight = batch()
    value = loss(Objective(), Contest(network()), (x, y, None), weight)
    theirs = log_loss(y, expit(np.asarray(network()(x))[:, 0]), sample_weight=weight)
    assert float(value) == pytest.approx(theirs * weight.mean(), rel=1e-5)


def test_more_classes_give_the_softmax_cross_entropy():
    (x, y, _), weight = batch(classes=3)
    value = loss(Objective(), Contest(network(2)), (x, y, None), weight)
    logits = np.column_stack([np.zeros(len(x)), network(2)(x)])
    theirs = log_loss(y, softmax(logits, axis=1), sample_weight=weight)
    assert float(value) == pytest.approx(theirs * weight.mean(), rel=1e-5)


@pytest.mark.parametrize("room", [200, 300])
@pytest.mark.parametrize(
    ("penalty", "options"),
    [(distance_correlation, ()), (moment_decomposition, (("order", 1),))],
    ids=["disco", "mode"],
)
def test_the_penalty_sees_the_probabilities_of_background_alone(penalty, options, room):
    (x, y, m), weight = batch()
    plain = loss(Objective(), Contest(network()), (x, y, None), weight)
    value = loss(Objective(penalty, options, room), Contest(network()), (x, y, m), weight, 3.0)
    score, b = expit(np.asarray(network()(x))[:, 0]), y == 0
    expected = penalty(score[b], m[b, 0], sample_weight=weight[b], **dict(options))
    assert float(value - plain) == pytest.approx(3 * float(expected), rel=1e-3)


def test_with_more_signals_the_penalty_is_the_mean_of_theirs():
    (x, y, m), weight = batch(classes=3)
    objective = Objective(distance_correlation, (), 200)
    plain = loss(Objective(), Contest(network(2)), (x, y, None), weight)
    value = loss(objective, Contest(network(2)), (x, y, m), weight, 1.0)
    share = softmax(np.column_stack([np.zeros(len(x)), network(2)(x)]), axis=1)
    b = y == 0
    each = [distance_correlation(share[b, i], m[b, 0], sample_weight=weight[b]) for i in (1, 2)]
    assert float(value - plain) == pytest.approx(np.mean(each), rel=1e-3)


def test_of_two_heads_each_has_a_cross_entropy_and_the_penalty_is_between_them():
    (x, y, _), weight = batch()
    objective = Objective(distance_correlation, (("power", 2),), 200, heads=2)
    value = loss(objective, Contest(network(2)), (x, y, None), weight, 3.0)
    first, second = expit(np.asarray(network(2)(x))).T
    theirs = sum(log_loss(y, score, sample_weight=weight) for score in (first, second))
    b = y == 0
    between = distance_correlation(first[b], second[b], sample_weight=weight[b], power=2)
    expected = theirs * weight.mean() + 3 * float(between)
    assert float(value) == pytest.approx(expected, rel=1e-4)


def test_many_attributes_reach_the_penalty_together():
    (x, y, m), weight = batch(attributes=2)
    plain = loss(Objective(), Contest(network()), (x, y, None), weight)
    objective = Objective(distance_correlation, (), 200)
    value = loss(objective, Contest(network()), (x, y, m), weight, 1.0)
    score, b = expit(np.asarray(network()(x))[:, 0]), y == 0
    expected = distance_correlation(score[b], m[b], sample_weight=weight[b])
    assert float(value - plain) == pytest.approx(float(expected), rel=1e-3)


def test_a_batch_with_more_background_than_room_still_has_a_penalty():
    (x, y, m), weight = batch()
    objective = Objective(distance_correlation, (), 50)
    first = np.flatnonzero(y == 0)[:50]
    plain = loss(Objective(), Contest(network()), (x, y, None), weight)
    score = expit(np.asarray(network()(x))[:, 0])
    expected = distance_correlation(score[first], m[first, 0], sample_weight=weight[first])
    value = loss(objective, Contest(network()), (x, y, m), weight, 1.0)
    assert float(value - plain) == pytest.approx(float(expected), rel=1e-3)


def test_equal_objectives_are_one_to_the_compiler():
    one, two = (Objective(moment_decomposition, (("order", 1),), 64) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


class TestAdversary:
    def test_its_density_integrates_to_one(self):
        at = np.linspace(-30, 30, 20_001)[:, None].astype("f4")
        for score in (0.0, 0.5, 1.0):
            density = np.exp(log_prob(adversary(), np.full((len(at), 1), score, "f4"), at))
            assert trapezoid(density, at[:, 0]) == pytest.approx(1, abs=1e-3)

    def test_attributes_are_independent_within_a_component(self):
        axis = np.linspace(-15, 15, 301)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype("f4")
        density = np.exp(log_prob(adversary(2), np.zeros((len(grid), 1), "f4"), grid))
        assert float(density.sum()) * 0.1**2 == pytest.approx(1, abs=1e-3)

    def test_a_reversed_gradient_is_minus_its_strength(self):
        assert float(reverse_gradient(2.0, 5.0)) == 2.0
        slope = jax.grad(lambda x: reverse_gradient(x, 5.0) ** 2)(2.0)
        assert float(slope) == -5 * 4

    @pytest.mark.slow
    def test_it_learns_what_the_classifier_unlearns(self):
        (x, y, m), weight = jax.tree.map(jnp.asarray, batch())
        contest = Contest(network(), adversary())
        objective = Objective(None, (), 200)
        slopes = eqx.filter_jit(eqx.filter_grad(lambda c: objective(c, (x, y, m), weight, 2.0)))
        ours = slopes(contest)

        b = np.asarray(y) == 0

        def surprise(adversary, network):
            log_prob = adversary.log_prob(jax.nn.sigmoid(network(x[b])), m[b])
            return -jnp.average(log_prob, weights=weight[b])

        both = eqx.filter_jit(jax.grad(surprise, argnums=(0, 1)))
        mine, theirs = both(adversary(), contest.network)
        for a, b in zip(*map(jax.tree.leaves, (ours.adversary, mine)), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        plain = eqx.filter_jit(eqx.filter_grad(lambda c: Objective()(c, (x, y, None), weight, 0.0)))
        unopposed = plain(contest).network
        for a, b, c in zip(*map(jax.tree.leaves, (ours.network, unopposed, theirs)), strict=True):
            np.testing.assert_allclose(a, b - 2 * c, atol=1e-5)
