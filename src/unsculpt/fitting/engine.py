"""Stochastic gradient descent for many small models at once.

The models are tiny and the loops are long, so the time goes into the loop: the data sit on the
device, an epoch is one compiled scan, and the members of an ensemble (seeds, score columns,
values of a hyper-parameter) are one vmapped axis of one program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Split
from jaxtyping import Array, Float, Int, PyTree
from numpy.typing import NDArray

from unsculpt.devices import share_out
from unsculpt.fitting.order import EventOrder
from unsculpt.progress import progress

Model = TypeVar("Model", bound=eqx.Module)
Loss = Callable[[Any, Any, Array, Any], Array]

ADAM = optax.scale_by_adam()


@dataclass(frozen=True)
class Fit(Generic[Model]):
    """A trained ensemble and how it got there.

    Attributes:
        model: the members, stacked on the leading axis of every array.
        train_loss: (epochs, members), the mean over the epoch.
        validation_loss: (epochs, members) on each member's held-out events; NaN without any.
        best_epoch: (members,), the epoch whose parameters `model` holds, counted from 0.
    """

    model: Model
    train_loss: NDArray[np.float64]
    validation_loss: NDArray[np.float64]
    best_epoch: NDArray[np.int64]


def fit(
    model: Model,
    loss: Loss,
    data: PyTree,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int | Sequence[int] | NDArray[np.integer],
    orders: int | None = None,
    weight: NDArray[np.floating] | None = None,
    settings: PyTree = None,
    validation: float = 0.0,
    keep: Literal["best", "last"] = "last",
    optimiser: optax.GradientTransformation = ADAM,
    can_split_batches: bool = False,
    title: str = "Fitting",
) -> Fit[Model]:
    """Train the members of `model` with Adam, the rate annealed to zero by a cosine.

    Ctrl-C raises `KeyboardInterrupt` and leaves nothing behind: all state is local to the call.
    A second fit with the same shapes, model structure and `loss` function compiles nothing.

    Args:
        model: members stacked on the leading axis of every floating-point array.
        loss: `loss(member, batch, weight, setting)`, the scalar to minimise. Pass the same
            function object every time; a fresh closure would be compiled anew.
        data: arrays with events on the leading axis; they go to the device once.
        epochs: passes over each member's training events.
        batch_size: events a step; a last incomplete batch is left out of that epoch, and since
            the order is drawn anew each epoch every event gets its turn.
        learning_rate: the rate at the start.
        seed: fixes the splits and the order of events. One seed gives every member its own; with
            one for each member, members of the same seed share them.
        orders: with one seed, after how many members the orders start over; None for never. To
            shuffle for a thousand members takes longer than to train them on a GPU.
        weight: event weights, negative ones included; scaled here to mean one.
        settings: per-member values handed to `loss`, members on the leading axis.
        validation: fraction of events each member holds out, a different set for each, so that
            the ensemble as a whole sees them all.
        keep: parameters of the epoch with the lowest validation loss, or of the last one.
        optimiser: turns a gradient into the step that the rate multiplies; like `loss`, pass the
            same object every time.
        can_split_batches: whether the loss of a batch is the mean of the losses of its parts, so
            that several cores may share a batch.
        title: shown beside the progress bar.
    """
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    members = jax.tree.leaves(parameters)[0].shape[0]
    events = jax.tree.leaves(data)[0].shape[0]
    weight = np.ones(events) if weight is None else weight / np.mean(weight)

    held_out = round(validation * events)
    if keep == "best" and not held_out:
        raise ValueError(f"keep='best' needs held-out events; validation={validation} leaves none")
    order = EventOrder(seed, members, events, held_out, orders)
    batch_size = min(batch_size, order.events)
    steps = order.events // batch_size

    mesh = share_out(members, batch_size, can_split_batches)
    data, by_member = _place(
        mesh,
        (data, weight.astype(np.float32)),
        (parameters, jax.vmap(optimiser.init)(parameters), settings, order.follow),
    )
    parameters, state, settings, follow = by_member
    best, lowest = parameters, jnp.full(members, jnp.inf)
    best_epoch = np.zeros(members, dtype=np.int64)
    history = np.full((2, epochs, members), np.nan)
    # Batches of the size that leaves out fewest: these are not drawn anew.
    validation_size = held_out // max(1, held_out // batch_size)
    validation_batches = _batches(order.held_out, validation_size) if held_out else None
    batches = _batches(order.first, batch_size)
    with progress(title, epochs, "epochs") as advance:
        advance(0, note="compiling")
        for epoch in range(epochs):
            phase = (np.arange(epoch * steps, (epoch + 1) * steps) / (epochs * steps)).astype("f4")
            rates = jnp.asarray(learning_rate * (1 + np.cos(np.pi * phase)) / 2)
            parameters, state, train = _epoch(
                loss,
                optimiser,
                static,
                mesh,
                parameters,
                state,
                settings,
                follow,
                batches,
                data,
                rates,
            )
            if epoch == 0:
                advance(0)  # compiled
            # The device is at work: shuffle for the next epoch before waiting for this one.
            if epoch + 1 < epochs:
                batches = _batches(order.draw(), batch_size)
            history[0, epoch] = train
            if not np.isfinite(history[0, epoch]).all():
                raise FloatingPointError(
                    f"the loss is not finite in epoch {epoch + 1} of {epochs}; "
                    "lower learning_rate, or look for extreme weights"
                )
            value = train
            if validation_batches is not None:
                value = _evaluate(
                    loss, static, parameters, data, settings, validation_batches, follow
                )
                history[1, epoch] = value
            if keep == "best":
                better = value < lowest
                lowest = jnp.where(better, value, lowest)
                best = jax.tree.map(_choose(better), parameters, best)
                best_epoch = np.where(better, epoch, best_epoch)
            advance(1, note=f"loss {np.mean(value):.4f}")
    if keep == "last":
        best, best_epoch = parameters, np.full(members, epochs - 1)
    model = eqx.combine(jax.device_get(best), static)
    return Fit(model, history[0], history[1], best_epoch)


def _place(mesh: Mesh, everywhere: PyTree, by_member: PyTree) -> tuple[PyTree, PyTree]:
    """Put arrays on all devices of the mesh, whole or divided by member."""

    def put(split: Split) -> Callable[[Array], Array]:
        return lambda array: jax.device_put(array, NamedSharding(mesh, split))

    return (
        jax.tree.map(put(Split()), everywhere),
        jax.tree.map(put(Split("members")), by_member),
    )


def _batches(rows: Int[np.ndarray, "orders n"], size: int) -> Int[Array, "steps orders size"]:
    """Cut the rows of each order into whole batches; a short rest is left out."""
    steps = rows.shape[1] // size
    return jnp.asarray(rows[:, : steps * size].reshape(-1, steps, size).swapaxes(0, 1))


def _choose(better: Array) -> Callable[[Array, Array], Array]:
    def choose(new: Array, old: Array) -> Array:
        return jnp.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return choose


@eqx.filter_jit
def _epoch(
    loss: Loss,
    optimiser: optax.GradientTransformation,
    static: PyTree,
    mesh: Mesh,
    parameters: PyTree,
    state: PyTree,
    settings: PyTree,
    follow: Int[Array, " members"] | None,
    batches: Int[Array, "steps orders size"],
    data: PyTree,
    rates: Float[Array, " steps"],
) -> tuple[PyTree, PyTree, Float[Array, " members"]]:
    shared_batch = mesh.shape["events"] > 1

    def member_step(
        parameters: PyTree, state: PyTree, setting: Any, data: PyTree, rows: Array, rate: Array
    ) -> Any:
        def objective(parameters: PyTree) -> Array:
            return _batch_loss(loss, static, parameters, data, setting, rows)

        value, gradient = jax.value_and_grad(objective)(parameters)
        if shared_batch:
            # All numbers at once: handing them around array by array costs more than is gained.
            flat, unravel = ravel_pytree((value, gradient))
            value, gradient = unravel(jax.lax.pmean(flat, "events"))
        update, state = optimiser.update(gradient, state)
        parameters = jax.tree.map(lambda p, u: p - rate * u, parameters, update)
        return parameters, state, value

    def on_one_device(
        parameters: PyTree,
        state: PyTree,
        settings: PyTree,
        follow: Array | None,
        batches: Array,
        data: PyTree,
        rates: Array,
    ) -> Any:
        def step(carry: tuple[PyTree, PyTree], batch: tuple[Array, Array]) -> Any:
            rows, rate = batch
            rows = rows if follow is None else rows[follow]
            *carry_, value = jax.vmap(member_step, in_axes=(0, 0, 0, None, 0, None))(
                *carry, settings, data, rows, rate
            )
            return tuple(carry_), value

        (parameters, state), values = jax.lax.scan(step, (parameters, state), (batches, rates))
        return parameters, state, values.mean(axis=0)

    by_member = Split("members")
    by_order = Split(None, "members" if follow is None else None, "events")
    parameters, state, values = jax.shard_map(
        on_one_device,
        mesh=mesh,
        in_specs=(by_member, by_member, by_member, by_member, by_order, Split(), Split()),
        out_specs=by_member,
        check_vma=False,  # it cannot see that shares of a batch end with the same numbers
    )(parameters, state, settings, follow, batches, data, rates)
    return parameters, state, values


@eqx.filter_jit
def _evaluate(
    loss: Loss,
    static: PyTree,
    parameters: PyTree,
    data: PyTree,
    settings: PyTree,
    batches: Int[Array, "steps orders size"],
    follow: Int[Array, " members"] | None,
) -> Float[Array, " members"]:
    def step(_: None, rows: Array) -> tuple[None, Array]:
        def member(parameters: PyTree, setting: Any, rows: Array) -> Array:
            return _batch_loss(loss, static, parameters, data, setting, rows)

        rows = rows if follow is None else rows[follow]
        return None, jax.vmap(member)(parameters, settings, rows)

    return jax.lax.scan(step, None, batches)[1].mean(axis=0)


def _batch_loss(
    loss: Loss, static: PyTree, parameters: PyTree, data: PyTree, setting: Any, rows: Array
) -> Array:
    batch, weight = jax.tree.map(lambda column: column[rows], data)
    return loss(eqx.combine(parameters, static), batch, weight, setting)
