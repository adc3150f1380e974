"""Conditional flows: what FlowJAX does not have. Its modules start JAX, but for `numbers`."""
