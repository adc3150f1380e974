"""Rational-quadratic splines of FlowJAX from the numbers that a network predicts."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from flowjax.bijections import RationalQuadraticSpline
from flowjax.utils import get_ravelled_pytree_constructor
from jaxtyping import Array, Float
from paramax import unwrap


def spline_from(numbers: Float[Array, " n"], bins: int, **settings: Any) -> Any:
    """Return a spline of so many bins from 3 bins + 1 numbers: widths, heights and slopes.

    What they are added to is made here and not beside the module's constants: that would be an
    array, and importing a module should not start JAX.
    """
    with jax.enable_x64(False):
        identity = RationalQuadraticSpline(knots=bins - 1, **settings)
        make, _ = get_ravelled_pytree_constructor(identity, eqx.is_inexact_array)
    return unwrap(make(numbers))
