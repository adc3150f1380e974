"""Functions that work alike on JAX, PyTorch and NumPy arrays."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_jax_array,
    is_torch_array,
)

from unsculpt.inputs import same_length

Array: TypeAlias = Any


class Events(NamedTuple):
    """The events of a batch, and the functions for their kind of array."""

    xp: Any
    scores: Array
    protected: Array
    weight: Array


def events(scores: Array, protected: Array, sample_weight: Array | None) -> Events:
    """Return arrays of one kind, precision and length: those of the scores.

    An event of weight zero is put where the heaviest event is, so that nothing of it is left, not
    even a NaN.
    """
    if not is_array_api_obj(scores):
        scores = np.asarray(scores)
    xp = array_namespace(scores)
    if not xp.isdtype(scores.dtype, "real floating"):
        scores = xp.astype(scores, xp.asarray(1.0).dtype)

    def like_scores(array: Array) -> Array:
        same = is_array_api_obj(array) and array_namespace(array) is xp
        if not same:
            array = xp.asarray(array, **beside(scores))
        return xp.astype(array, scores.dtype)

    protected = like_scores(protected)
    n = _length(scores, "scores")
    if sample_weight is None:
        weight = xp.ones_like(xp.reshape(scores, (n, -1))[:, 0])
    else:
        weight = like_scores(sample_weight)
        if weight.ndim != 1:
            raise ValueError(
                f"sample_weight has shape {tuple(weight.shape)}; expected one per event, ({n},)"
            )
    same_length(
        n, protected=_length(protected, "protected"), sample_weight=_length(weight, "sample_weight")
    )
    weight = constant(weight)
    if sample_weight is not None:
        heaviest = xp.argmax(xp.abs(weight))
        scores, protected = (
            xp.where(xp.reshape(weight, (n, *[1] * (x.ndim - 1))) == 0, constant(x[heaviest]), x)
            for x in (scores, protected)
        )
    return Events(xp, scores, protected, weight)


def beside(array: Array) -> dict[str, Any]:
    """Return the argument that puts a new array where this one is: PyTorch asks for it."""
    return {"device": array.device} if is_torch_array(array) else {}


def constant(x: Array) -> Array:
    """Return the same numbers, without a gradient."""
    if is_jax_array(x):
        import jax

        return jax.lax.stop_gradient(x)
    return x.detach() if is_torch_array(x) else x


def ratio(xp: Any, numerator: Array, denominator: Array) -> Array:
    """Return the quotient, or zero without a gradient where the denominator is not positive."""
    none = denominator <= 0
    return xp.where(none, 0.0, numerator / xp.where(none, 1.0, denominator))


def _length(array: Array, name: str) -> int:
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}; expected a row per event, (n,) or (n, k)"
        )
    return int(array.shape[0])
