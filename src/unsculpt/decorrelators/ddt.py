"""The designed decorrelated tagger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.protected import Continuous, Outside, ProtectedAttributes
from unsculpt.decorrelators.shift import ShiftDecorrelator
from unsculpt.models.inputs import (
    Floats,
    are_names,
    finite,
    places_of,
    protected_columns,
)


@dataclass(frozen=True)
class Line:
    """A shift along the coordinate of one attribute: none at its mean."""

    slope: float
    mean: float

    def __call__(self, features: Floats) -> Floats:
        """Return the shift at each value of the attribute."""
        return np.asarray(self.slope * (features[:, 0] - self.mean))


class DDTDecorrelator(ShiftDecorrelator[Line]):
    """Subtracts the line along which the mean background score moves.

    The designed decorrelated tagger of Dolen et al. (arXiv:1603.00027), made for τ21, whose mean
    on QCD jets falls in a straight line with ρ = log(m²/pT²). The line is that of weighted least
    squares through the events in `window`; the shift is zero at their mean ρ.

    It flattens the mean, and that only where the mean is linear. The width and the tails of the
    score still change with the attribute, so a cut on the new score, a hard one above all,
    sculpts; for the same reason there is no `threshold`.

    Args:
        window: (low, high), the values of ρ, or of the given variable, between which the mean is
            straight; None for all events. Beyond it `outside` applies.
        outside: what becomes of values beyond the fitted range: the shift at its edge ("clip", with
            a warning that counts them), an error ("raise"), or NaN ("nan", with a warning).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mass, pt = rng.uniform(50, 150, 1000), rng.uniform(300, 500, 1000)
    >>> tau21 = 0.5 - 0.1 * np.log(mass**2 / pt**2) + rng.normal(0, 0.1, 1000)
    >>> ddt = DDTDecorrelator().fit(tau21, np.column_stack([mass, pt]))
    >>> bool(abs(ddt.slope_[0] + 0.1) < 0.01)
    True
    """

    def __init__(
        self, *, window: tuple[float, float] | None = None, outside: Outside = "clip"
    ) -> None:
        self.window = window
        self.outside = outside

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the line on background events.

        Args:
            scores: (n,), or (n, k) for k scores of the same events, each by itself.
            protected: (n, 2), mass and transverse momentum in this order and the same unit, from
                which ρ is made; or (n,), the variable to shift along.
            sample_weight: (n,), negative weights included.
        """
        columns, weight = self._events(scores, protected, sample_weight)
        variable = _variable(protected)
        low, high = _ends(self.window)
        inside = (variable >= low) & (variable <= high)
        if np.count_nonzero(inside) < 2 or weight[inside].sum() <= 0:
            raise ValueError(
                f"window [{low:g}, {high:g}] holds {np.count_nonzero(inside):,} of {len(inside):,} "
                f"events, with weights that sum to {weight[inside].sum():g}; the variable runs "
                f"from {variable.min():g} to {variable.max():g}: widen the window"
            )
        variable = _named(variable[inside], variable.name)
        columns, weight = columns[inside], weight[inside]
        attributes = ProtectedAttributes.of(variable, weight, (), linear=True)
        features, _ = attributes.features(variable, "raise")
        mean = np.average(features[:, 0], weights=weight)
        away = features[:, 0] - mean
        spread = np.average(away**2, weights=weight)
        if not spread > 0:
            raise ValueError(f"the weighted variance is {spread:g}; too many negative weights")
        slopes = np.average(away[:, None] * columns, axis=0, weights=weight) / spread
        self.attributes_ = attributes
        self.inputs_ = protected_columns(protected)[0]
        self.columns_ = [Line(float(slope), float(mean)) for slope in slopes]
        self.one_column_ = np.ndim(scores) == 1
        return self

    @property
    def slope_(self) -> Floats:
        """The slope of each score, per unit of ρ or of the given variable, (k,)."""
        (attribute,) = self.attributes_.attributes
        assert isinstance(attribute, Continuous)
        low, high = attribute.cdf.range
        return np.array([line.slope for line in self.columns_]) * 2 / (high - low)

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the shifted score: the order at fixed attributes is the old one."""
        return super().transform(scores, self._along(protected))

    def inverse_transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `scores`."""
        return super().inverse_transform(scores, self._along(protected))

    def _along(self, protected: Any) -> Floats:
        """Return the variable, from the columns of a table in the order of the fit."""
        check_is_fitted(self)
        names, columns = protected_columns(protected)
        width = len(columns)
        if width != len(self.inputs_):
            raise ValueError(
                f"protected has {width} columns; expected {len(self.inputs_)}: "
                f"{', '.join(self.inputs_)}"
            )
        if hasattr(protected, "columns") and are_names(self.inputs_):
            where = places_of(self.inputs_, names)
            protected = protected[[protected.columns[i] for i in where]]
        return _variable(protected)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, protected = self.attributes_.state()
        arrays["lines"] = np.array([[line.slope, line.mean] for line in self.columns_])
        about = {"protected": protected, "one_column": self.one_column_, "inputs": self.inputs_}
        return arrays, about

    def _restore(self, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, about["protected"])
        self.columns_ = [Line(float(slope), float(mean)) for slope, mean in arrays["lines"]]
        self.one_column_, self.inputs_ = about["one_column"], about["inputs"]


class _Variable(np.ndarray[Any, np.dtype[np.float64]]):
    """A column that messages call by its name."""

    name: str


def _variable(protected: Any) -> _Variable:
    """Return ρ, or the one column that is given."""
    names, columns = protected_columns(protected)
    if len(columns) > 2:
        raise ValueError(
            f"protected has {len(columns)} columns; expected mass and transverse momentum, or one "
            "variable"
        )
    values = [finite(column, name) for name, column in zip(names, columns, strict=True)]
    if len(values) == 1:
        return _named(values[0], names[0])
    for name, column in zip(names, values, strict=True):
        bad = np.count_nonzero(column <= 0)
        if bad:
            raise ValueError(
                f"{name} is zero or negative in {bad:,} of {len(column):,} events; rho needs a "
                "positive mass and transverse momentum"
            )
    mass, pt = values
    return _named(2 * np.log(mass / pt), "rho")


def _named(values: Floats, name: str) -> _Variable:
    variable = values.view(_Variable)
    variable.name = name
    return variable


def _ends(window: tuple[float, float] | None) -> tuple[float, float]:
    if window is None:
        return -np.inf, np.inf
    if len(window) != 2 or not window[0] < window[1]:
        raise ValueError(f"window is {window}; expected (low, high) with low below high")
    low, high = window
    return float(low), float(high)
