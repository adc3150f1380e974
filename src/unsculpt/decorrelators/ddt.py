"""The designed decorrelated tagger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import Continuous, ProtectedAttributes
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.shift import Shift, ShiftDecorrelator
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Columns, Floats, in_order_of, is_one_column, numbers, protected_columns
from unsculpt.saving import Arrays, Json


@dataclass(frozen=True)
class Line(Shift):
    """A shift along the coordinate of one attribute: none at its mean."""

    slope: float
    mean: float

    def __call__(self, features: Floats) -> Floats:
        """Return the shift at each value of the attribute."""
        return np.asarray(self.slope * (features[:, 0] - self.mean))

    def graph(self, graph: Graph, features: Value) -> Value:
        """Return the shift as steps of a graph."""
        return self.slope * (features - self.mean)


class DDTDecorrelator(ShiftDecorrelator[Line]):
    """Subtract the line along which the mean background score moves.

    The designed decorrelated tagger of Dolen et al. (arXiv:1603.00027), made for τ21, whose mean
    on QCD jets falls in a straight line with ρ = log(m²/pT²). The line is that of weighted least
    squares through the events in `window`; the shift is zero at their mean ρ.

    It flattens the mean only, and only where the mean is linear. The width and the tails of the
    score still change with the attribute, so a cut on the new score still sculpts, most of all a
    hard cut. For the same reason there is no `threshold`.

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

    method = "ddt"
    inputs_: list[str]

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
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        inputs, given = protected_columns(protected)
        name, variable = _variable(inputs, given)
        low, high = _ends(self.window)
        inside = (variable >= low) & (variable <= high)
        if np.count_nonzero(inside) < 2 or weight[inside].sum() <= 0:
            raise ValueError(
                f"window [{low:g}, {high:g}] holds {np.count_nonzero(inside):,} of {len(inside):,} "
                f"events, with weights that sum to {weight[inside].sum():g}; the variable runs "
                f"from {variable.min():g} to {variable.max():g}: widen the window"
            )
        straight = Columns({name: variable[inside]})
        columns, weight = columns[inside], weight[inside]
        attributes = ProtectedAttributes.learn(straight, weight, (), by_range=1.0)
        features, _ = attributes.features(straight, "raise")
        mean = np.average(features[:, 0], weights=weight)
        away = features[:, 0] - mean
        variance = np.average(away**2, weights=weight)
        if not variance > 0:
            raise ValueError(f"the weighted variance is {variance:g}; too many negative weights")
        slopes = np.average(away[:, None] * columns, axis=0, weights=weight) / variance
        self._keep(
            attributes_=attributes,
            inputs_=inputs,
            shifts_=[Line(float(slope), float(mean)) for slope in slopes],
            one_column_=is_one_column(scores),
        )
        return self

    @property
    def slope_(self) -> Floats:
        """The slope of each score, per unit of ρ or of the given variable, (k,)."""
        (attribute,) = self.attributes_.attributes
        assert isinstance(attribute, Continuous)
        low, high = attribute.cdf.range
        return np.array([line.slope for line in self.shifts_]) * 2 / (high - low)

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the shifted score: the order at fixed attributes is the old one.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        return super().transform(scores, self._along(protected))

    def inverse_transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `scores`.

        Args:
            scores: shifted scores, as `transform` returns them.
            protected: the attributes of the same events, as in the fit.
        """
        return super().inverse_transform(scores, self._along(protected))

    @property
    def protected_inputs_(self) -> dict[str, bool]:
        """The protected columns of the fit, by name, and whether they hold text."""
        return dict.fromkeys(self.inputs_, False)

    def _along(self, protected: Any) -> Columns:
        """Return the variable to shift along, from the columns of the fit."""
        check_is_fitted(self)
        name, variable = _variable(self.inputs_, in_order_of(self.inputs_, protected))
        return Columns({name: variable})

    def _along_graph(self, graph: Graph, protected: list[Value]) -> list[Value]:
        if len(self.inputs_) == 1:
            return protected
        # NaN unless both are positive.
        mass, momentum = (graph.where(x > 0, x, np.nan) for x in protected)
        return [2 * graph.add("Log", mass / momentum)]

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        return super()._graph(graph, scores, self._along_graph(graph, protected))

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self.attributes_.state()
        arrays["lines"] = np.array([[line.slope, line.mean] for line in self.shifts_])
        return arrays, {
            "protected": protected,
            "one_column": self.one_column_,
            "inputs": self.inputs_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.shifts_ = [Line(float(slope), float(mean)) for slope, mean in arrays["lines"]]
        self.one_column_, self.inputs_ = metadata["one_column"], metadata["inputs"]


def _variable(names: list[str], columns: list[Any]) -> tuple[str, Floats]:
    """Return ρ with its name, or the one column that is given."""
    if len(columns) > 2:
        raise ValueError(
            f"protected has {len(columns)} columns; expected mass and transverse momentum, or one "
            "variable"
        )
    values = [numbers(column, name) for name, column in zip(names, columns, strict=True)]
    if len(values) == 1:
        return names[0], values[0]
    for name, column in zip(names, values, strict=True):
        bad = np.count_nonzero(column <= 0)
        if bad:
            raise ValueError(
                f"{name} is zero or negative in {bad:,} of {len(column):,} events; rho needs a "
                "positive mass and transverse momentum"
            )
    mass, pt = values
    return "rho", 2 * np.log(mass / pt)


def _ends(window: tuple[float, float] | None) -> tuple[float, float]:
    if window is None:
        return -np.inf, np.inf
    if len(window) != 2 or not window[0] < window[1]:
        raise ValueError(f"window is {window}; expected (low, high) with low below high")
    low, high = window
    return float(low), float(high)
