"""PyTorch: the same numbers as a module, differentiable in the score."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

from unsculpt.atomic import atomic_write
from unsculpt.export.needs import needs
from unsculpt.export.program import graph_of
from unsculpt.graph import Graph, Node

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.classifiers.graph import Method


def to_torch(
    model: Any, *, classifier: Classifier | None = None, method: Method = "predict_proba"
) -> Any:
    """Return `model.transform` as a `torch.nn.Module`.

    Called with the inputs of `to_onnx` as tensors, in that order, it returns the decorrelated
    score in double precision, a tuple if there are several. It can be differentiated in the score,
    so that a loss may depend on the decorrelated one. Text categories come as their places in
    alphabetical order, 0, 1, ...; what `transform` refuses becomes NaN.

    Args:
        model: as in `to_onnx`.
        classifier: computes the score in the same module, from `features`, (n, f).
        method: what of the classifier the decorrelator was fitted on.
    """
    torch = needs("torch", "torch")
    return _module(graph_of(model, classifier, method), torch)


def to_torchscript(
    model: Any,
    path: str | os.PathLike[str],
    *,
    classifier: Classifier | None = None,
    method: Method = "predict_proba",
) -> None:
    """Write the module of `to_torch` as TorchScript, which C++ loads without Python.

    Args:
        model: as in `to_onnx`.
        path: the file to write.
        classifier: as in `to_torch`.
        method: as in `to_torch`.
    """
    torch = needs("torch", "torch")
    graph = graph_of(model, classifier, method)
    example = tuple(
        torch.zeros((2, x.width) if x.kind == "table" else 2, dtype=torch.float64)
        for x in graph.inputs.values()
    )
    traced = torch.jit.trace(_module(graph, torch), example)
    # By a name torch would write itself, and take Python down with it if the disk is full.
    content = BytesIO()
    torch.jit.save(traced, content)
    with atomic_write(path) as draft:
        draft.write_bytes(content.getbuffer())


def _module(graph: Graph, torch: Any) -> Any:
    # A class can only be derived from what has been imported.
    class Decorrelator(torch.nn.Module):  # type: ignore[misc]
        """A graph, step by step."""

        def __init__(self) -> None:
            super().__init__()
            for name, array in graph.constants.items():
                self.register_buffer(name, torch.from_numpy(array.copy()))

        def forward(self, *inputs: Any) -> Any:
            """Return the decorrelated score, or a tuple of them."""
            if len(inputs) != len(graph.inputs):
                raise TypeError(f"expected {', '.join(graph.inputs)}; got {len(inputs)} tensors")
            values = dict(self.named_buffers())
            values |= zip(graph.inputs, (x.to(torch.float64) for x in inputs), strict=True)
            for node in graph.nodes:
                values[node.output] = _run(node, [values[x] for x in node.inputs], torch)
            outputs = tuple(values[name] for name in graph.outputs)
            return outputs if len(outputs) > 1 else outputs[0]

    return Decorrelator()


NAMES = {"Div": "true_divide", "Less": "lt", "Greater": "gt", "Equal": "eq"}


def _run(node: Node, x: list[Any], torch: Any) -> Any:
    """Do what ONNX means by an operation."""
    options = node.options
    match node.operation:
        case "CountBelow":
            return torch.searchsorted(*x)
        case "Gather":
            table, index = x
            axis = options["axis"]
            return table.index_select(axis, index) if axis else table[index]
        case "Concat":
            return torch.cat(x, options["axis"])
        case "Unsqueeze" | "Squeeze":
            return getattr(x[0], node.operation.lower())(*options["axes"])
        case "ReduceSum" | "ReduceMean":
            reduce = x[0].sum if node.operation == "ReduceSum" else x[0].mean
            return reduce(options["axes"], keepdim=bool(options["keepdims"]))
        case "Softmax":
            return x[0].softmax(options["axis"])
        case "Cast":
            return x[0].to(getattr(torch, options["to"]))
        case "LabelEncoder":  # text comes encoded
            return x[0]
        case other:
            return getattr(torch, NAMES.get(other, other.lower()))(*x)
