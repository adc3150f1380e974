"""Conditional flows: what FlowJAX does not have."""

from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.flows.reflection import increasing
from unsculpt.flows.spline_flow import SplineFlow

__all__ = ["ResidualConditioner", "SmoothConditioner", "SplineFlow", "increasing"]
