from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import rich.progress

from unsculpt.fitting import fit


class Line(eqx.Module):
    """y = slope * x + offset, one of each per member."""

    slope: jax.Array
    offset: jax.Array

    @staticmethod
    def members(n):
        return Line(jnp.zeros(n), jnp.zeros(n))


class Memory(eqx.Module):
    """One number for each event: it shows which events training has touched."""

    seen: jax.Array


class Traces:
    """Counts how often JAX looks into a loss: once for every compilation."""

    count: ClassVar[int] = 0


def squares(line, batch, weight, setting):
    x, y = batch
    return (weight * (y - line.slope * x - line.offset) ** 2).mean()


def counted_squares(line, batch, weight, setting):
    Traces.count += 1
    return squares(line, batch, weight, setting)


def towards_setting(line, batch, weight, setting):
    return (line.slope - setting) ** 2 + line.offset**2 + 0 * weight.sum()


def remember(memory, batch, weight, setting):
    return ((memory.seen[batch] - 1) ** 2).sum()


def past_the_minimum(line, batch, weight, setting):
    """A loss lowest at slope 0.3 whose gradient keeps pushing the slope up."""
    value = (line.slope - 0.3) ** 2 + 0 * line.offset
    return jax.lax.stop_gradient(value + line.slope) - line.slope


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 240)
    return x.astype("f4"), (2 * x - 1 + rng.normal(0, 0.3, x.size)).astype("f4")


def fit_line(points, members=1, **settings):
    full_batch = {"epochs": 300, "batch_size": 10**6, "learning_rate": 0.1, "seed": 0}
    return fit(Line.members(members), squares, points, **full_batch | settings)


def least_squares(points, weight):
    x, y = points
    design = np.column_stack([x, np.ones_like(x)])
    root = np.sqrt(weight)
    return np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]


def parameters(fitted):
    return np.array([fitted.model.slope, fitted.model.offset])


def held_out_by(fitted):
    return np.asarray(fitted.model.seen) == 0


def test_a_line_converges_to_least_squares(points):
    found = parameters(fit_line(points))[:, 0]
    np.testing.assert_allclose(found, least_squares(points, np.ones(240)), atol=1e-3)


def test_a_line_converges_to_least_squares_in_batches(points):
    found = parameters(fit_line(points, batch_size=32, learning_rate=0.03))[:, 0]
    np.testing.assert_allclose(found, least_squares(points, np.ones(240)), atol=0.02)


def test_weights_converge_to_weighted_least_squares(points):
    weight = np.where(points[0] > 0, 5.0, 0.5)
    found = parameters(fit_line(points, weight=weight))[:, 0]
    np.testing.assert_allclose(found, least_squares(points, weight), atol=1e-3)


def test_integer_weights_are_duplicated_events(points):
    weight = np.random.default_rng(1).integers(1, 4, 240)
    duplicated = tuple(np.repeat(column, weight) for column in points)
    weighted, copied = fit_line(points, weight=weight.astype(float)), fit_line(duplicated)
    np.testing.assert_allclose(parameters(weighted), parameters(copied), atol=1e-5)


def test_a_negative_weight_cancels_a_positive_duplicate(points):
    junk = (np.full(50, 0.7, "f4"), np.full(50, 9.0, "f4"))
    dirty = tuple(np.concatenate([p, j, j]) for p, j in zip(points, junk, strict=True))
    weight = np.repeat([1.0, 1.0, -1.0], [240, 50, 50])
    np.testing.assert_allclose(
        parameters(fit_line(dirty, weight=weight)), parameters(fit_line(points)), atol=1e-4
    )


def test_the_scale_of_weights_does_not_matter(points):
    weight = np.random.default_rng(1).uniform(0.5, 2, 240)
    small, large = fit_line(points, weight=weight), fit_line(points, weight=1024 * weight)
    np.testing.assert_array_equal(parameters(small), parameters(large))


def test_members_trained_together_equal_members_trained_alone(points):
    together = fit_line(points, members=3)
    alone = fit_line(points)
    for member in range(3):
        np.testing.assert_allclose(
            parameters(together)[:, member], parameters(alone)[:, 0], atol=1e-5
        )


def test_each_member_gets_its_own_setting(points):
    wanted = np.array([-2.0, 0.5, 3.0], "f4")
    fitted = fit(
        Line.members(3),
        towards_setting,
        points,
        epochs=300,
        batch_size=240,
        learning_rate=0.1,
        seed=0,
        settings=wanted,
    )
    np.testing.assert_allclose(fitted.model.slope, wanted, atol=1e-2)


def test_the_rate_falls_along_a_cosine(points):
    epochs, steps, rate = 5, 4, 0.01
    fitted = fit(
        Line.members(1),
        past_the_minimum,
        points,
        epochs=epochs,
        batch_size=240 // steps,
        learning_rate=rate,
        seed=0,
    )
    schedule = optax.cosine_decay_schedule(rate, epochs * steps)
    # Under a constant gradient Adam moves by the rate itself.
    travelled = sum(float(schedule(step)) for step in range(epochs * steps))
    assert float(fitted.model.slope[0]) == pytest.approx(travelled, rel=1e-4)


def remember_all(events, members, **settings):
    usual = {"epochs": 3, "batch_size": 20, "learning_rate": 0.1, "seed": 0}
    memory = Memory(jnp.zeros((members, events)))
    return fit(memory, remember, np.arange(events), **usual | settings)


def test_held_out_events_never_reach_training():
    untouched = held_out_by(remember_all(100, members=3, validation=0.2))
    assert untouched.sum(axis=1).tolist() == [20, 20, 20]


def test_each_member_holds_out_other_events():
    untouched = held_out_by(remember_all(100, members=3, validation=0.2))
    assert len({row.tobytes() for row in untouched}) == 3


def test_validation_loss_is_measured_on_the_held_out_events():
    fitted = remember_all(100, members=2, validation=0.2)
    # An untouched event costs exactly one, and a batch sums over its 20.
    np.testing.assert_array_equal(fitted.validation_loss, np.full((3, 2), 20.0))
    assert np.all(fitted.train_loss[-1] < 20)


def test_every_event_gets_its_turn_though_incomplete_batches_are_left_out():
    fitted = remember_all(100, members=2, epochs=30, batch_size=60)
    assert not held_out_by(fitted).any()
    one_epoch = remember_all(100, members=2, epochs=1, batch_size=60)
    assert held_out_by(one_epoch).sum(axis=1).tolist() == [40, 40]


def test_history_has_a_row_for_each_epoch_and_a_column_for_each_member(points):
    fitted = fit_line(points, members=3, epochs=7, validation=0.25)
    assert fitted.train_loss.shape == fitted.validation_loss.shape == (7, 3)
    assert np.isfinite(fitted.train_loss).all()
    assert np.isfinite(fitted.validation_loss).all()
    assert fitted.best_epoch.tolist() == [6, 6, 6]


def test_without_validation_its_history_is_nan(points):
    assert np.isnan(fit_line(points, epochs=2).validation_loss).all()


def overshoot(points, keep):
    return fit(
        Line.members(2),
        past_the_minimum,
        points,
        epochs=20,
        batch_size=60,
        learning_rate=0.02,
        seed=0,
        validation=0.25,
        keep=keep,
    )


def test_keep_best_returns_the_parameters_of_the_lowest_validation_loss(points):
    fitted = overshoot(points, "best")
    np.testing.assert_array_equal(fitted.best_epoch, fitted.validation_loss.argmin(axis=0))
    assert np.all((fitted.best_epoch > 0) & (fitted.best_epoch < 19))
    here = (np.asarray(fitted.model.slope) - 0.3) ** 2
    np.testing.assert_allclose(here, fitted.validation_loss.min(axis=0), atol=1e-6)


def test_keep_last_returns_the_last_epoch(points):
    fitted = overshoot(points, "last")
    here = (np.asarray(fitted.model.slope) - 0.3) ** 2
    np.testing.assert_allclose(here, fitted.validation_loss[-1], atol=1e-6)
    assert np.all(here > fitted.validation_loss.min(axis=0))


def test_a_second_fit_of_the_same_shapes_compiles_nothing(points):
    def run(points, seed):
        fit(
            Line.members(2),
            counted_squares,
            points,
            epochs=2,
            batch_size=50,
            learning_rate=0.1,
            seed=seed,
            validation=0.25,
        )
        return Traces.count

    first = run(points, seed=0)
    assert first > 0
    assert run(tuple(column[::-1].copy() for column in points), seed=1) == first


def test_the_same_seed_gives_the_same_bytes(points):
    one, two = (fit_line(points, members=2, epochs=5, batch_size=32, seed=3) for _ in range(2))
    assert parameters(one).tobytes() == parameters(two).tobytes()
    assert one.train_loss.tobytes() == two.train_loss.tobytes()


def test_another_seed_gives_another_order(points):
    one, two = (fit_line(points, epochs=5, batch_size=32, seed=seed) for seed in (3, 4))
    assert parameters(one).tobytes() != parameters(two).tobytes()


def test_members_of_a_seed_are_the_same_whoever_else_is_trained(points):
    usual = {"epochs": 5, "batch_size": 32, "validation": 0.25, "keep": "best"}
    together = fit_line(points, members=3, seed=[3, 4, 3], **usual)
    one, other, again = parameters(together).T
    np.testing.assert_array_equal(one, again)
    assert np.all(one != other)
    np.testing.assert_allclose(
        parameters(fit_line(points, seed=[4], **usual))[:, 0], other, atol=1e-6
    )


def test_another_optimiser(points):
    plain = fit_line(points, optimiser=optax.identity(), epochs=50)
    # Gradient descent by hand, on all events at once.
    x, y = (column.astype(float) for column in points)
    slope = offset = 0.0
    for rate in optax.cosine_decay_schedule(0.1, 50)(np.arange(50)):
        residual = y - slope * x - offset
        slope, offset = (
            slope + 2 * rate * (residual * x).mean(),
            offset + 2 * rate * residual.mean(),
        )
    np.testing.assert_allclose(parameters(plain)[:, 0], [slope, offset], atol=1e-5)


def test_a_batch_larger_than_the_data_is_the_data(points):
    exact, larger = fit_line(points, batch_size=240), fit_line(points, batch_size=241)
    np.testing.assert_array_equal(parameters(exact), parameters(larger))


def test_ctrl_c_is_raised(points, monkeypatch):
    def interrupt(*arguments, **values):
        raise KeyboardInterrupt

    monkeypatch.setattr(rich.progress.Progress, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit_line(points, epochs=3)


def test_progress_is_silent_where_nobody_watches(points, capfd):
    fit_line(points, epochs=3)
    assert capfd.readouterr() == ("", "")


def test_a_loss_that_is_not_finite_is_an_error_not_a_model(points):
    with pytest.raises(FloatingPointError, match="epoch 1 of 300; lower learning_rate"):
        fit_line((points[0], points[1] * np.float32(1e30)))


def test_the_best_epoch_needs_held_out_events(points):
    with pytest.raises(ValueError, match="keep='best' needs held-out events"):
        fit_line(points, keep="best")
