import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from unsculpt.penalties import distance_correlation


def definition(x, y):
    """The distance correlation, word by word: distances, centred by rows and by columns."""
    x, y = (np.reshape(column, (len(column), -1)) for column in (x, y))

    def centred(points):
        distance = np.linalg.norm(points[:, None] - points, axis=-1)
        return distance - distance.mean(axis=0) - distance.mean(axis=1)[:, None] + distance.mean()

    a, b = centred(x), centred(y)
    return ((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean())) ** 0.5


few_values = hnp.arrays(np.float64, (20, 2), elements=st.integers(0, 4))


def slow(x, y, **settings):
    """The sum over all pairs: vectors, here with a second component of zero, take no other way."""
    x, y = (np.column_stack([column, 0 * column]) for column in (x, y))
    return distance_correlation(x, y, **settings)


def test_a_single_column_takes_the_fast_way():
    x, y = np.random.default_rng(0).normal(size=(2, 100_000))  # all pairs would take 80 GB
    together = distance_correlation(x[:, None], (x + y)[:, None])
    assert together == pytest.approx(distance_correlation(x, x + y), rel=1e-12)


@pytest.mark.slow
def test_the_definition_is_that_of_dcor(sample, vectors):
    # Here alone: it compiles for half a minute when it is imported.
    dcor = pytest.importorskip("dcor")
    for x, y in (sample[:2], vectors):
        assert definition(x, y) == pytest.approx(dcor.distance_correlation(x, y), abs=1e-12)
        assert definition(x, y) ** 2 == pytest.approx(dcor.distance_correlation_sqr(x, y))


def test_it_is_what_is_defined(kind, sample):
    scores, mass, _ = sample
    ours = distance_correlation(kind(scores), kind(mass))
    assert float(ours) == pytest.approx(definition(scores, mass), abs=1e-6)
    squared = distance_correlation(kind(scores), kind(mass), power=2)
    assert float(squared) == pytest.approx(definition(scores, mass) ** 2, abs=1e-6)


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    protected = random.normal(size=(60, 3))
    return random.normal(protected[:, :2]), protected


def test_it_is_what_is_defined_for_vectors(kind, vectors):
    ours = distance_correlation(*map(kind, vectors))
    assert float(ours) == pytest.approx(definition(*vectors), abs=1e-6)


def test_a_weight_is_a_number_of_events(kind, sample):
    scores, mass, weight = sample
    ours = distance_correlation(kind(scores), kind(mass), sample_weight=kind(weight))
    repeated = [np.repeat(column, weight) for column in (scores, mass)]
    assert float(ours) == pytest.approx(definition(*repeated), abs=1e-6)


def test_a_normal_pair_has_its_closed_form():
    rho, random = 0.6, np.random.default_rng(0)
    x, noise = random.normal(size=(2, 100_000))
    # Theorem 7 of Székely, Rizzo and Bakirov.
    numerator = rho * np.arcsin(rho) + np.sqrt(1 - rho**2)
    numerator += 1 - rho * np.arcsin(rho / 2) - np.sqrt(4 - rho**2)
    truth = numerator / (1 + np.pi / 3 - np.sqrt(3))
    ours = distance_correlation(x, rho * x + np.sqrt(1 - rho**2) * noise, power=2)
    assert ours == pytest.approx(truth, abs=0.006)


@given(few_values)
@settings(deadline=None)
def test_the_fast_way_agrees_with_the_sum_over_pairs(columns):
    x, y = columns.T
    weight = np.roll(x, 1)
    assert distance_correlation(x, y) == pytest.approx(slow(x, y), abs=1e-7)
    fast = distance_correlation(x, y, sample_weight=weight, power=2)
    assert fast == pytest.approx(slow(x, y, sample_weight=weight, power=2), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 1500])
def test_the_fast_way_works_for_every_length(n):
    random = np.random.default_rng(n)
    x, weight = random.normal(size=(2, n))  # some weights are negative
    y = 1e3 + x**2 + random.normal(size=n)
    weight += 1
    assert distance_correlation(x, y) == pytest.approx(slow(x, y), abs=1e-9)
    fast = distance_correlation(x, y, sample_weight=weight, power=2)
    assert fast == pytest.approx(slow(x, y, sample_weight=weight, power=2), abs=1e-9)


def test_neither_units_nor_order_nor_the_scale_of_weights_matter(kind, sample):
    scores, mass, weight = sample
    once = distance_correlation(kind(scores), kind(mass), sample_weight=kind(weight))
    turned = (kind(column[::-1].copy()) for column in (3 - scores, 1e3 * mass, weight / 7))
    again = distance_correlation(*(columns := list(turned))[:2], sample_weight=columns[2])
    assert float(once) == pytest.approx(float(again), rel=1e-5)


def test_an_event_of_weight_zero_is_not_there(gradient, sample):
    scores, mass, weight = (column.astype(float) for column in sample)
    kept = weight > 0

    def penalty(scores, mass, weight):
        return distance_correlation(scores, mass, sample_weight=weight)

    alone = penalty(scores[kept], mass[kept], weight[kept])
    slope = gradient(penalty, scores, mass, weight)
    scores[~kept], mass[~kept] = np.nan, np.inf
    assert penalty(scores, mass, weight) == pytest.approx(alone, rel=1e-12)
    np.testing.assert_allclose(gradient(penalty, scores, mass, weight), slope, atol=1e-12)
    assert not slope[~kept].any()
    assert slope[kept].all()


@pytest.mark.parametrize("power", [1, 2])
def test_gradient_is_that_of_the_value(gradient, differences, sample, power):
    scores, mass, weight = (column.astype(float) for column in sample)

    def penalty(scores, mass=mass, weight=weight):
        return distance_correlation(scores, mass, sample_weight=weight, power=power)

    slope = gradient(penalty, scores, mass, weight)
    np.testing.assert_allclose(slope, differences(penalty, scores), atol=1e-7)


def test_gradient_by_vectors_and_by_the_protected(gradient, differences):
    random = np.random.default_rng(0)
    protected = random.normal(size=(15, 2))
    scores = random.normal(protected[:, 0])

    def swapped(protected, scores):
        return distance_correlation(scores, protected.reshape(15, 2))

    slope = gradient(swapped, protected.ravel(), scores)
    numerical = differences(lambda protected: swapped(protected, scores), protected.ravel())
    np.testing.assert_allclose(slope, numerical, atol=1e-7)


def test_gradient_at_ties_is_the_mean_of_both_sides(gradient, differences):
    random = np.random.default_rng(0)
    mass = random.normal(size=60)
    scores = np.round(mass + random.normal(size=60))
    slope = gradient(distance_correlation, scores, mass)
    numerical = differences(lambda scores: distance_correlation(scores, mass), scores)
    np.testing.assert_allclose(slope, numerical, atol=1e-7)


NO_CORRELATION = [
    ([0.5] * 4, [1.0, 2, 3, 4]),
    ([1.0, 2, 3, 4], [0.1] * 4),
    ([0.0, 0, 1, 1], [0.0, 1, 0, 1]),
]


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_no_correlation_is_zero(kind, shape):
    for scores, mass in NO_CORRELATION:
        assert float(distance_correlation(kind(scores), kind(mass).reshape(shape))) < 1e-7
    weight = kind([0.0] * 4)
    assert float(distance_correlation(kind(scores), kind(scores), sample_weight=weight)) == 0


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_no_correlation_has_a_finite_gradient(gradient, shape):
    for scores, mass in NO_CORRELATION:
        mass = np.array(mass).reshape(shape)
        assert np.isfinite(gradient(distance_correlation, np.array(scores), mass)).all()

    def without_weight(scores, mass):
        return distance_correlation(scores, mass, sample_weight=0 * mass)

    assert not gradient(without_weight, np.arange(4.0), np.arange(4.0)).any()


def test_nan_is_not_hidden(kind):
    assert np.isnan(float(distance_correlation(kind([0.1, np.nan, 0.3]), kind([1.0, 2.0, 3.0]))))


def test_single_precision_is_enough():
    random = np.random.default_rng(0)
    scores, mass = random.uniform(size=2048), random.exponential(size=2048)
    correlation = jax.jit(distance_correlation)
    for score in (scores, scores + mass):  # the hard case is hardly any correlation
        exact = distance_correlation(score, mass)
        single = correlation(jnp.asarray(score, "f4"), jnp.asarray(mass, "f4"))
        assert single.dtype == np.float32
        assert float(single) == pytest.approx(exact, rel=1e-5)


def test_many_models_at_once(sample):
    scores, mass, weight = (jnp.asarray(column, "f4") for column in sample)
    batch = jnp.stack([scores, scores**2, 1 - scores])

    def penalty(scores):
        return distance_correlation(scores, mass, sample_weight=weight, power=2)

    together = jax.jit(jax.vmap(jax.value_and_grad(penalty)))(batch)
    alone = jax.jit(jax.value_and_grad(penalty))
    for i, scores in enumerate(batch):
        value, slope = alone(scores)
        assert float(together[0][i]) == pytest.approx(float(value), rel=1e-5)
        np.testing.assert_allclose(together[1][i], slope, atol=1e-6)
