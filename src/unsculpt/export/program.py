"""Fitted decorrelators, with the classifier before them if wanted, as a graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators import Chain, CrossFit, Decorrelator
from unsculpt.decorrelators.base import varied
from unsculpt.decorrelators.common.attributes import Categorical, Continuous
from unsculpt.graph import Graph, Input, Value
from unsculpt.inputs import UNNAMED, are_names

if TYPE_CHECKING:
    from unsculpt.classifiers import Classifier
    from unsculpt.classifiers.graph import Method

FOLD = "fold"  # the input of a CrossFit
FLAT = "flat"


def graph_of(
    model: Any,
    classifier: Classifier | None = None,
    method: Method = "predict_proba",
    variations: int = 0,
) -> Graph:
    """Return the program of `model.transform`, from scores or features and attributes.

    With the outputs of so many pairs of its variations.
    """
    check_is_fitted(model)
    if variations and isinstance(model, CrossFit):
        varied(model, variations)  # which refuses
    models = model._silent_models if isinstance(model, CrossFit) else [model]
    programs = [_steps(one, classifier) for one in models]
    classifier, (first, *_) = programs[0]
    graph = Graph()
    if classifier is None:
        given = [
            graph.input(identifier(x), description) for x, description in scores_in(model, first)
        ]
    else:
        check_is_fitted(classifier)
        given = [graph.input("features", Input("table", classifier.n_features_in_))]
    protected = [
        graph.input(identifier(x), description) for x, description in protected_in(model, first)
    ]
    answers = []
    for classifier, (*before, last) in programs:
        scores = given
        if classifier is not None:
            scores = _scores(graph, [*before, last][0], classifier, method, given[0])
        for step in before:
            scores = step._graph(graph, scores, protected)
        lasts = varied(last, variations) if variations else {FLAT: last}
        answers.append({name: one._graph(graph, scores, protected) for name, one in lasts.items()})
    outputs = answers[0]
    if isinstance(model, CrossFit):
        of_folds = [answer[FLAT] for answer in answers]
        fold_by = (model.source_ or {}).get("fold_by") or "the number of the event"
        fold = graph.input(FOLD, Input(expression=f"({fold_by}) % {len(models)}, -1 if not fitted"))
        outputs = {FLAT: model._choice(graph, of_folds, fold, protected)}
    for name, flat in outputs.items():
        for output, score in zip(_numbered(name, len(flat)), flat, strict=True):
            graph.output(output, score)
    return graph


def _steps(
    model: Any, classifier: Classifier | None
) -> tuple[Classifier | None, list[Decorrelator]]:
    """Return the classifier of a model, or the one given, and the decorrelators behind it."""
    steps: list[Any] = list(model.steps) if isinstance(model, Chain) else [model]
    if hasattr(steps[0], "predict_proba") and len(steps) > 1:
        classifier, *steps = steps
    for step in steps:
        check_exportable(step)
    return classifier, steps


def check_exportable(model: Any) -> None:
    """Refuse what is not a fitted decorrelator that has a graph."""
    if not isinstance(model, Decorrelator) or type(model)._graph is Decorrelator._graph:
        raise ValueError(
            f"a {type(model).__name__} cannot be exported; expected a decorrelator of scores such "
            "as FlowDecorrelator"
        )
    check_is_fitted(model)


def scores_in(model: Any, first: Decorrelator) -> list[tuple[str, Input]]:
    """Return the scores by their columns in the files of the fit, if known, and their ranges."""
    columns = (model.source_ or {}).get("score")
    names = columns or _numbered("score", first.n_scores_)
    ranges = [cdf.range for cdf in getattr(first, "cdfs_", [])] or [None] * len(names)
    return [
        (name, Input(expression=name if columns else None, range=ends))
        for name, ends in zip(names, ranges, strict=True)
    ]


def protected_in(model: Any, first: Decorrelator) -> list[tuple[str, Input]]:
    """Return the protected attributes by name, with their ranges or categories."""
    columns = (model.source_ or {}).get("protected")
    names = columns or list(first.protected_inputs_)
    if not are_names(names):
        names = _numbered(UNNAMED, len(names))
    of_fit = model.attributes_ if isinstance(model, CrossFit) else first.attributes_
    fitted: dict[str, Any] = {attribute.name: attribute for attribute in of_fit.attributes}
    return [
        (name, _about(name if columns else None, text, fitted.get(own)))
        for name, (own, text) in zip(names, first.protected_inputs_.items(), strict=True)
    ]


def _about(expression: str | None, text: bool, attribute: Any) -> Input:
    """Return how to prepare an attribute; what it is made into may be another one."""
    return Input(
        "text" if text else "number",
        expression=expression,
        range=attribute.cdf.range if isinstance(attribute, Continuous) else None,
        categories=attribute.values if isinstance(attribute, Categorical) else None,
    )


def identifier(name: str) -> str:
    """Return a name that programs can have too: `jet_mass / 1000` is `jet_mass_1000`."""
    name = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    if name[0].isdigit():
        name = f"x_{name}"
    # Steps of a program are called so.
    return f"{name}_" if re.fullmatch(r"(step|constant)_\d+", name) else name


def flat_names(last: Decorrelator) -> list[str]:
    """Return what the decorrelated scores are called."""
    return _numbered(FLAT, last.n_scores_)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]


def _scores(
    graph: Graph, first: Decorrelator, classifier: Classifier, method: Method, features: Value
) -> list[Value]:
    from unsculpt.classifiers.graph import scores

    ranges = [cdf.range for cdf in getattr(first, "cdfs_", [])]
    low, high = min((r[0] for r in ranges), default=0), max((r[1] for r in ranges), default=1)
    if method == "predict_proba" and not (low >= 0 and high <= 1):
        raise ValueError(
            f"the decorrelator was fitted on scores from {low:g} to {high:g}, which are no "
            "probabilities; if they are log odds, pass method='decision_function'"
        )
    given = scores(graph, classifier, features, method)
    if len(given) != first.n_scores_:
        raise ValueError(
            f"the classifier gives {len(given)} scores; the decorrelator was fitted on "
            f"{first.n_scores_}"
        )
    return given
