"""Networks of the protected attributes as steps of a graph, all members side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from unsculpt.flows.conditioners import ResidualConditioner, SmoothConditioner
from unsculpt.graph import Graph, Value


def all_but_last(graph: Graph, network: Any, features: Value) -> tuple[Value, Any]:
    """Return the last hidden layer, (members, n, width), and the layer that comes after it."""
    if isinstance(network, ResidualConditioner):
        hidden = linear(network.first, features)
        for inner, outer in network.blocks:
            between = linear(inner, graph.add("Relu", hidden))
            hidden = hidden + linear(outer, graph.add("Relu", between))
        return hidden, network.last
    activation = "Tanh" if isinstance(network, SmoothConditioner) else "Relu"
    *layers, last = network.layers
    for layer in layers:
        features = graph.add(activation, linear(layer, features))
    return features, last


def linear(layer: Any, x: Value, first: int = 0, last: int | None = None) -> Value:
    """Return some of the outputs of a layer."""
    weight, bias = (np.asarray(w)[:, first:last] for w in (layer.weight, layer.bias))
    return x @ weight.swapaxes(1, 2) + bias[:, None]
