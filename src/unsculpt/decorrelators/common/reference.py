"""Where scores are moved to: values of protected attributes, or the barycentre."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from unsculpt.decorrelators.common.attributes import Categorical, Continuous, ProtectedAttributes
from unsculpt.decorrelators.common.outside import Outside, users_level

BARYCENTRE = "barycentre"


def reference(
    to: Any, attributes: ProtectedAttributes, outside: Outside | None
) -> tuple[dict[str, Any] | None, bool]:
    """Return the values to go to by their attributes, and whether that is nowhere.

    None stands for the barycentre. Beyond the fitted range `outside` is followed, for a reference
    as for an event.
    """
    found = named(to, attributes.names)
    if found is None:
        return None, False
    nowhere = False
    for attribute in attributes.attributes:
        if attribute.name not in found:
            continue
        value = found[attribute.name] = _value(attribute, found[attribute.name])
        category = isinstance(attribute, Categorical)
        if attribute.known(np.array([value]))[0] or (outside is None and not category):
            continue
        message = f"to has {attribute.name} {value!r}, outside the fitted {attribute.describe()}"
        if outside == "raise" or category:
            raise ValueError(f"{message}; move to a value that the fit has seen")
        nowhere |= outside == "nan"
        then = "all scores become NaN" if nowhere else "the nearest fitted value stands in"
        warnings.warn(f"{message}: {then}", stacklevel=users_level())
    return found, nowhere


def named(to: Any, names: list[str]) -> dict[str, Any] | None:
    """Return `to` by the names of attributes, None for the barycentre."""
    example = f"{{{names[0]!r}: ...}}"
    if isinstance(to, str) and to == BARYCENTRE:
        return None
    if not isinstance(to, dict):
        if len(names) > 1:
            raise ValueError(
                f"to is {to!r}, but the model protects {', '.join(names)}; name the "
                f"attribute, to={example}, or say to={BARYCENTRE!r}"
            )
        return {names[0]: to}
    found = {}
    for which, value in to.items():
        name = names[which] if isinstance(which, int) and 0 <= which < len(names) else which
        if name not in names:
            raise ValueError(f"to names {which!r}; the protected attributes are {names}")
        found[name] = value
    if not found:
        raise ValueError(f"to is empty; expected at least one attribute, such as {example}")
    return found


def _value(attribute: Continuous | Categorical, value: Any) -> Any:
    """Return a value of an attribute; a number may come as text, from a command line."""
    if isinstance(attribute, Categorical) and attribute.is_text:
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"to has {attribute.name} {value!r}; expected a number, or to={BARYCENTRE!r}"
        )
    return number
