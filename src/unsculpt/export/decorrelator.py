"""A fitted decorrelator, with the classifier before it if wanted, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.columns import ColumnDecorrelator
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.export import pieces
from unsculpt.export.graph import Graph, Value
from unsculpt.models.inputs import UNNAMED

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.export.classifier import Method


def graph_of(
    model: Any, classifier: Classifier | None = None, method: Method = "predict_proba"
) -> Graph:
    """Return the program of `model.transform`, from scores or features and attributes."""
    check_exportable(model)
    graph = Graph()
    if classifier is None:
        scores = [graph.input(name) for name in score_names(model)]
    else:
        scores = _scores(graph, model, classifier, method)
    attributes = zip(model.attributes_.attributes, protected_names(model), strict=True)
    protected = [
        graph.input(name, "text" if pieces.is_text(attribute) else "number")
        for attribute, name in attributes
    ]
    features, mark = pieces.features(graph, model.attributes_, protected, model.outside)
    for column, score, name in zip(model.columns_, scores, flat_names(model), strict=True):
        flat = _flat(graph, column, score, features)
        graph.output(name, flat if mark is None else flat + mark)
    return graph


def check_exportable(model: Any) -> None:
    """Refuse what is not a fitted decorrelator of scores."""
    if not isinstance(model, ColumnDecorrelator):
        raise ValueError(
            f"a {type(model).__name__} cannot be exported; expected a decorrelator of scores such "
            "as FlowDecorrelator"
        )
    check_is_fitted(model)


def score_names(model: Any) -> list[str]:
    """Return what the scores are called: by their columns in the files of the fit, if known."""
    return (model.source_ or {}).get("score") or _numbered("score", len(model.columns_))


def protected_names(model: Any) -> list[str]:
    """Return what the protected attributes are called."""
    names = (model.source_ or {}).get("protected") or model.attributes_.names
    if names[0].startswith(UNNAMED):
        return _numbered(UNNAMED, len(names))
    return list(names)


def flat_names(model: Any) -> list[str]:
    """Return what the decorrelated scores are called."""
    return _numbered("flat", len(model.columns_))


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]


def _scores(graph: Graph, model: Any, classifier: Classifier, method: Method) -> list[Value]:
    from unsculpt.export.classifier import scores

    check_is_fitted(classifier)
    low, high = min(c.range[0] for c in model.columns_), max(c.range[1] for c in model.columns_)
    if method == "predict_proba" and not (low >= 0 and high <= 1):
        raise ValueError(
            f"the decorrelator was fitted on scores from {low:g} to {high:g}, which are no "
            "probabilities; if they are log odds, pass method='decision_function'"
        )
    features = graph.input("features", "table", classifier.n_features_in_)
    given = scores(graph, classifier, features, method)
    if len(given) != len(model.columns_):
        raise ValueError(
            f"the classifier gives {len(given)} scores; the decorrelator was fitted on "
            f"{len(model.columns_)}"
        )
    return given


def _flat(graph: Graph, column: Any, score: Value, features: Value) -> Value:
    table = table_of(column)
    if table is not None:
        return pieces.table(graph, table, score, features)
    # By name: importing the class would import JAX, which a spline does without.
    match type(column).__name__:
        case "FlowColumn":
            from unsculpt.export.flow import mean_cdf

            level = pieces.level(graph, column.coordinate, score)
            return mean_cdf(graph, column.flows, level, features)
        case other:
            raise ValueError(f"a decorrelator that keeps a {other} cannot be exported")


def table_of(column: Any) -> TableColumn | None:
    """Return the table over one attribute that a column is or has, None if it has none."""
    if isinstance(column, TableColumn):
        return column
    return (
        column.table if getattr(column, "tabulated", False) and hasattr(column, "table") else None
    )
