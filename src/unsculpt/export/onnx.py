"""ONNX: a file that onnxruntime runs in C++, Python and elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from unsculpt.atomic import atomic_write
from unsculpt.export.needs import needs
from unsculpt.export.program import graph_of
from unsculpt.graph import Graph, Node

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.classifiers.graph import Method

# Both are read by onnxruntime since 1.14, of early 2023.
OPSET, IR_VERSION = 18, 8
ML = "ai.onnx.ml"


def to_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    classifier: Classifier | None = None,
    method: Method = "predict_proba",
    variations: int = 0,
    single: bool = False,
) -> None:
    """Write `model.transform` as an ONNX graph (opset 18) that plain onnxruntime runs.

    Inputs are columns of any length, one for each score and each protected attribute, by name:
    `score` (`score_0`, ... if there are several) and the attribute's name, or `protected`
    (`protected_0`, ...) if it has none. An expression such as `jet_mass / 1000` becomes the name
    `jet_mass_1000`; the file says of each input how it was computed and its range in the fit, in
    its description and, for programs, as JSON under `inputs` in the metadata. Text categories are
    strings. The outputs are `flat` (`flat_0`, ...).

    Numbers are double: single precision would merge neighbouring scores and break their order.
    Where the inputs are single already, `single` takes them as they are; all else stays double.

    A `CrossFit` has one more input, `fold`: the number of the event modulo the number of folds, or
    any other number, such as -1, for an event that no model has seen.

    A graph cannot raise an error: what `transform` refuses becomes NaN, above all protected values
    outside the fitted range with `outside="raise"`, and categories not seen in the fit.

    Args:
        model: a fitted decorrelator of one or several scores, or a chain of them, which may begin
            with a classifier.
        path: the file to write.
        classifier: computes the score in the same graph; its input is then `features`, (n, f).
        method: what of the classifier the decorrelator was fitted on, "predict_proba" (of signal)
            or "decision_function".
        variations: pairs of the model's variations to write too; the outputs are then `nominal`,
            `up_1`, `down_1`, ... (`nominal_0`, ... of several scores).
        single: whether the inputs are single precision (float in C++).

    >>> from tempfile import TemporaryDirectory
    >>> from unsculpt import SplineDecorrelator
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> spline = SplineDecorrelator().fit(toy.score, toy.protected)
    >>> with TemporaryDirectory() as folder:
    ...     to_onnx(spline, f"{folder}/flat.onnx")
    """
    onnx = needs("onnx", "onnx")
    graph = graph_of(model, classifier, method, variations)
    proto = _model(graph, onnx, single)
    proto.metadata_props.add(key="unsculpt", value=version("unsculpt"))
    proto.metadata_props.add(key="decorrelator", value=type(model).__name__)
    described = {name: asdict(x) for name, x in graph.inputs.items()}
    proto.metadata_props.add(key="inputs", value=json.dumps(described))
    onnx.checker.check_model(proto)
    with atomic_write(path) as draft:
        draft.write_bytes(proto.SerializeToString(deterministic=True))


def _model(graph: Graph, onnx: Any, single: bool) -> Any:
    make, kinds = onnx.helper, onnx.TensorProto
    nodes = [_node(step, graph, onnx) for node in graph.nodes for step in _steps(node, graph)]
    inputs = []
    for name, description in graph.inputs.items():
        element = kinds.STRING if description.kind == "text" else kinds.DOUBLE
        if single and description.kind != "text":
            element = kinds.FLOAT
            for node in nodes:
                node.input[:] = [f"{name}_double" if x == name else x for x in node.input]
            nodes.insert(0, make.make_node("Cast", [name], [f"{name}_double"], to=kinds.DOUBLE))
        shape = ["events", description.width] if description.kind == "table" else ["events"]
        inputs.append(make.make_tensor_value_info(name, element, shape, description.words))
    domains = {node.domain for node in nodes}
    used = {name for node in nodes for name in node.input}
    return make.make_model(
        make.make_graph(
            nodes,
            "unsculpt",
            inputs,
            [make.make_tensor_value_info(x, kinds.DOUBLE, ["events"]) for x in graph.outputs],
            [
                onnx.numpy_helper.from_array(x, name)
                for name, x in graph.constants.items()
                if name in used
            ],
        ),
        opset_imports=[make.make_opsetid(*x) for x in (("", OPSET), (ML, 2)) if x[0] in domains],
        ir_version=IR_VERSION,
        producer_name="unsculpt",
    )


def _steps(node: Node, graph: Graph) -> Iterator[Node]:
    """Return what ONNX can do, and onnxruntime does as it is written."""
    if node.operation == "CountBelow":
        yield from _bisection(node, graph)
        return
    if node.operation in ("Mul", "Div"):
        x, factor = node.inputs
        if node.operation == "Mul" and _is_nearly_one(graph.constants.get(x)):
            x, factor = factor, x
        one = graph.constants.get(factor)
        if _is_nearly_one(one):
            # onnxruntime takes what is within 1e-8 of one for one: x * (1 - d) becomes x - d * x.
            off = f"{node.output}_off"
            share = graph.constant(1 - one if node.operation == "Mul" else 1 - 1 / one)
            yield Node("Mul", [x, share.name], off, {})
            yield Node("Sub", [x, off], node.output, {})
            return
    yield node


def _is_nearly_one(constant: NDArray[Any] | None) -> TypeGuard[NDArray[Any]]:
    return constant is not None and constant.size == 1 and 0 < abs(constant.item() - 1) < 1e-6


def _bisection(node: Node, graph: Graph) -> Iterator[Node]:
    """Search in a sorted list, which ONNX does not have: ten steps for a thousand knots."""
    name, value = node.inputs
    knots, place = graph.constants[name], graph.constant(np.zeros((1, 1), dtype=np.int64)).name
    steps = [2**i for i in reversed(range(len(knots).bit_length()))]
    padded = np.pad(knots, (0, sum(steps) - len(knots)), constant_values=np.inf)
    for step in steps:
        knot, below, right = (f"{node.output}_{x}_{step}" for x in ("knot", "below", "right"))
        after = node.output if step == 1 else f"{node.output}_{step}"
        yield Node("Gather", [graph.constant(padded[step - 1 :]).name, place], knot, {"axis": 0})
        yield Node("Less", [knot, value], below, {})
        yield Node("Add", [place, graph.constant(np.int64(step)).name], right, {})
        yield Node("Where", [below, right, place], after, {})
        place = after


def _node(node: Node, graph: Graph, onnx: Any) -> Any:
    options = dict(node.options)
    inputs, domain = list(node.inputs), ""
    if "axes" in options:  # ONNX wants these as an input
        inputs.append(graph.constant(np.array(options.pop("axes"), dtype=np.int64)).name)
    if "to" in options:
        options["to"] = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(options["to"]))
    if node.operation == "LabelEncoder":
        domain, keys = ML, options.pop("keys")
        places = np.arange(float(len(keys)))
        options |= {"keys_strings": keys, "values_floats": places, "default_float": -1.0}
    return onnx.helper.make_node(node.operation, inputs, [node.output], domain=domain, **options)
