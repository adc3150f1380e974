"""Conditional flows: what FlowJAX does not have."""

from unsculpt import devices  # noqa: F401  first: modules below make arrays, which starts JAX
from unsculpt.flows.autoregressive import AutoregressiveFlow
from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.flows.convex import ConvexPotential, transport, transport_back
from unsculpt.flows.reflection import increasing
from unsculpt.flows.spline_flow import SplineFlow

__all__ = [
    "AutoregressiveFlow",
    "ConvexPotential",
    "ResidualConditioner",
    "SmoothConditioner",
    "SplineFlow",
    "increasing",
    "transport",
    "transport_back",
]
