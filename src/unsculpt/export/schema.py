"""The nodes of correctionlib's schema 2."""

from __future__ import annotations

from typing import Any

Content = dict[str, Any] | float


def formula(expression: str, *variables: str, parameters: list[Any] | None = None) -> Content:
    """Return a formula of some inputs, which it calls x and y."""
    node = {
        "nodetype": "formula",
        "expression": expression,
        "parser": "TFormula",
        "variables": list(variables),
    }
    return node if parameters is None else node | {"parameters": _numbers(parameters)}


def reference(index: int, parameters: list[Any]) -> Content:
    """Return one of the shared formulas with these parameters."""
    return {"nodetype": "formularef", "index": index, "parameters": _numbers(parameters)}


def binning(name: str, edges: list[Any], content: list[Content], flow: Any) -> Content:
    """Return a content for each bin of an input, and what to do beyond them."""
    return {
        "nodetype": "binning",
        "input": name,
        "edges": edges,
        "content": content,
        "flow": flow,
    }


def category(name: str, contents: dict[Any, Content], other: Content | None = None) -> Content:
    """Return a content for each text or integer of an input; else another, or an error."""
    cases = [{"key": key, "value": content} for key, content in contents.items()]
    return {"nodetype": "category", "input": name, "content": cases, "default": other}


def transform(name: str, rule: Content, content: Content) -> Content:
    """Return a content that sees another value of an input."""
    return {"nodetype": "transform", "input": name, "rule": rule, "content": content}


def _numbers(values: list[Any]) -> list[float]:
    return [float(x) for x in values]
