"""Conditional flows: what FlowJAX does not have."""

from unsculpt.flows.autoregressive import AutoregressiveFlow
from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.flows.convex import ConvexPotential, inverse_transport, transport
from unsculpt.flows.spline_flow import SplineFlow

__all__ = [
    "AutoregressiveFlow",
    "ConvexPotential",
    "ResidualConditioner",
    "SmoothConditioner",
    "SplineFlow",
    "inverse_transport",
    "transport",
]
