"""Fitted decorrelators, with the classifier before them if wanted, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.chain import Chain
from unsculpt.decorrelators.ddt import DDTDecorrelator
from unsculpt.decorrelators.scores import ScoreDecorrelator
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.export import pieces
from unsculpt.export.graph import Graph, Value
from unsculpt.models.inputs import UNNAMED, are_names

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.export.classifier import Method


def graph_of(
    model: Any, classifier: Classifier | None = None, method: Method = "predict_proba"
) -> Graph:
    """Return the program of `model.transform`, from scores or features and attributes."""
    check_is_fitted(model)
    steps = model.steps if isinstance(model, Chain) else [model]
    if type(steps[0]).__name__ == "Classifier" and len(steps) > 1:
        classifier, *steps = steps
    for step in steps:
        check_exportable(step)
    first, last = steps[0], steps[-1]
    graph = Graph()
    if classifier is None:
        scores = [graph.input(name) for name in score_names(model, first)]
    else:
        scores = _scores(graph, first, classifier, method)
    columns = [
        graph.input(name, "text" if text else "number")
        for name, text in zip(protected_names(model, first), _are_text(first), strict=True)
    ]
    for step in steps:
        along = _rho(graph, columns) if _wants_rho(step) else columns
        features, mark = pieces.features(graph, step.attributes_, along, step.outside)
        flat = [
            _flat(graph, step, column, score, features)
            for column, score in zip(step.columns_, scores, strict=True)
        ]
        scores = flat if mark is None else [score + mark for score in flat]
    for name, score in zip(flat_names(last), scores, strict=True):
        graph.output(name, score)
    return graph


def check_exportable(model: Any) -> None:
    """Refuse what is not a fitted decorrelator of scores."""
    if not isinstance(model, ScoreDecorrelator):
        raise ValueError(
            f"a {type(model).__name__} cannot be exported; expected a decorrelator of scores such "
            "as FlowDecorrelator"
        )
    check_is_fitted(model)


def score_names(model: Any, first: Any) -> list[str]:
    """Return what the scores are called: by their columns in the files of the fit, if known."""
    return (model.source_ or {}).get("score") or _numbered("score", len(first.columns_))


def protected_names(model: Any, first: Any) -> list[str]:
    """Return what the protected attributes are called."""
    known = first.inputs_ if isinstance(first, DDTDecorrelator) else first.attributes_.names
    names = (model.source_ or {}).get("protected") or known
    return list(names) if are_names(names) else _numbered(UNNAMED, len(names))


def flat_names(last: Any) -> list[str]:
    """Return what the decorrelated scores are called."""
    return _numbered("flat", len(last.columns_))


def table_of(column: Any) -> TableColumn | None:
    """Return the table over one attribute that a column is or has, None if it has none."""
    if type(column).__name__ == "FlowColumn":
        return column.table if column.tabulated else None
    return column if isinstance(column, TableColumn) else None


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]


def _are_text(step: Any) -> list[bool]:
    if isinstance(step, DDTDecorrelator):
        return [False] * len(step.inputs_)
    return [pieces.is_text(attribute) for attribute in step.attributes_.attributes]


def _wants_rho(step: Any) -> bool:
    return isinstance(step, DDTDecorrelator) and len(step.inputs_) == 2


def _rho(graph: Graph, columns: list[Value]) -> list[Value]:
    """Return log(m²/pT²) of mass and transverse momentum, NaN unless both are positive."""
    mass, momentum = (graph.where(x > 0, x, np.nan) for x in columns)
    return [2 * graph.add("Log", mass / momentum)]


def _scores(graph: Graph, first: Any, classifier: Classifier, method: Method) -> list[Value]:
    from unsculpt.export.classifier import scores

    check_is_fitted(classifier)
    ranges = [column.range for column in first.columns_ if hasattr(column, "range")]
    low, high = min((r[0] for r in ranges), default=0), max((r[1] for r in ranges), default=1)
    if method == "predict_proba" and not (low >= 0 and high <= 1):
        raise ValueError(
            f"the decorrelator was fitted on scores from {low:g} to {high:g}, which are no "
            "probabilities; if they are log odds, pass method='decision_function'"
        )
    features = graph.input("features", "table", classifier.n_features_in_)
    given = scores(graph, classifier, features, method)
    if len(given) != len(first.columns_):
        raise ValueError(
            f"the classifier gives {len(given)} scores; the decorrelator was fitted on "
            f"{len(first.columns_)}"
        )
    return given


def _flat(graph: Graph, step: Any, column: Any, score: Value, features: Value) -> Value:
    """Return one decorrelated score."""
    table = table_of(column)
    if table is not None:
        return pieces.table(graph, table, score, features)
    # By name: importing the classes would import JAX, which some of them do without.
    match type(column).__name__:
        case "FlowColumn":
            from unsculpt.export.flow import mean_cdf

            level = pieces.level(graph, column.coordinate, score)
            return mean_cdf(graph, column.flows, column.tails, level, features)
        case "TensorColumn":
            return pieces.tensor(graph, column, score, step.attributes_, features)
        case "QuantileColumn":
            from unsculpt.export.quantile import passed, smooth_cdf

            transform = smooth_cdf if step.continuous else passed
            return transform(graph, column, score, features)
        case "Line":
            return score - float(column.slope) * (features - float(column.mean))
        case "LocalCut" if column.line:
            return score - pieces.interpolate(
                graph, [(column.anchors[:, 0], features)], column.cuts
            )
    raise ValueError(
        f"a {type(step).__name__} of several attributes cannot be exported; with one continuous "
        "attribute it can"
    )
