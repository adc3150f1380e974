"""A fitted decorrelator, with the classifier before it if wanted, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.columns import ColumnDecorrelator
from unsculpt.decorrelators.protected import Categorical
from unsculpt.decorrelators.table_column import TableColumn
from unsculpt.export import pieces
from unsculpt.export.graph import Graph, Value
from unsculpt.models.inputs import UNNAMED

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.export.classifier import Method


def graph_of(model: Any, classifier: Classifier | None = None, method: Method = "predict_proba") -> Graph:
    """Return the program of `model.transform`, from scores or features and attributes."""
    check_exportable(model)
    graph = Graph()
    names = score_names(model)
    if classifier is None:
        scores = [graph.input(name) for name in names]
    else:
        scores = _scores(graph, model, classifier, method)
    columns = [
        _attribute(graph, attribute, name)
        for attribute, name in zip(model.attributes_.attributes, protected_names(model), strict=True)
    ]
    features, mark = pieces.features(graph, model.attributes_, columns, model.outside)
    for i, (column, score) in enumerate(zip(model.columns_, scores, strict=True)):
        flat = _cdf(graph, column, score, features)
        graph.output(flat_names(model)[i], flat if mark is None else flat + mark)
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


def _attribute(graph: Graph, attribute: Any, name: str) -> Value:
    if isinstance(attribute, Categorical) and isinstance(attribute.values[0], str):
        # Numbers from here on; what is not among the keys becomes -1.
        text = graph.input(name, "text")
        place = graph.add("LabelEncoder", text, keys=attribute.values)
        return graph.add("Cast", place, to="float64")
    return graph.input(name)


def _scores(graph: Graph, model: Any, classifier: Classifier, method: Method) -> list[Value]:
    from unsculpt.export.classifier import scores

    check_is_fitted(classifier)
    low, high = min(c.range[0] for c in model.columns_), max(c.range[1] for c in model.columns_)
    if method == "predict_proba" and not (0 <= low and high <= 1):
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


def _cdf(graph: Graph, column: Any, score: Value, features: Value) -> Value:
    table = table_of(column)
    if table is not None:
        return pieces.table(graph, table, score, features)
    from unsculpt.export.flow import mean_cdf

    return mean_cdf(graph, column.flows, pieces.level(graph, column.coordinate, score), features)


def table_of(column: Any) -> TableColumn | None:
    """Return the table over one attribute that a column is or has, None if it has none."""
    if isinstance(column, TableColumn):
        return column
    return column.table if column.tabulated else None
