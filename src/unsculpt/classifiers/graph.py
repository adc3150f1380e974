"""A classifier as steps of a graph."""

from __future__ import annotations

from typing import Literal

import numpy as np

from unsculpt.classifiers import Classifier
from unsculpt.graph import Graph, Value

Method = Literal["predict_proba", "decision_function"]


def scores(graph: Graph, classifier: Classifier, features: Value, method: Method) -> list[Value]:
    """Return what a method of the classifier gives: signal's of two classes, else that of each.

    Of two heads it is their mean, as in `predict_proba`.
    """
    network = classifier.network_
    x = (features - classifier.centre_) / classifier.width_
    weights, biases = ([np.asarray(w) for w in ws] for ws in (network.weights, network.biases))
    if classifier.heads == 2:
        for layers in (weights, biases):
            layers[-1] = layers[-1].mean(axis=-1, keepdims=True)
    # Background, the first class, has log odds of zero.
    weights[-1], biases[-1] = np.pad(weights[-1], [(0, 0), (1, 0)]), np.pad(biases[-1], [(1, 0)])
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if i:
            rectified = "Sigmoid" if network.activation == "swish" else "Relu"
            active = graph.add(rectified, x)
            x = x * active if network.activation == "swish" else active
        x = x @ weight + bias
    if method == "predict_proba":
        x = graph.add("Softmax", x, axis=-1)
    classes = len(classifier.classes_)
    wanted = [1] if classes == 2 else range(classes)
    return [graph.add("Gather", x, np.array([i]), axis=1) for i in wanted]
