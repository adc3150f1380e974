"""Variables of one sample morphed into those of another: chained quantile regression."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unsculpt.decorrelators.base import Decorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.draws import Draws
from unsculpt.decorrelators.common.elsewhere import (
    level_graph,
    moved_score,
    placed,
    placed_graph,
)
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.reference import reference
from unsculpt.decorrelators.move import check_movable
from unsculpt.graph import Graph, Value
from unsculpt.inputs import (
    Columns,
    Floats,
    check_list,
    in_order_of,
    protected_columns,
    whole_number,
)
from unsculpt.saving import Arrays, Json, packed_all, unpacked_all


class Morphing(Decorrelator):
    """Morph variables so that those of one sample are distributed as those of another.

    Fit it on simulation and data together, and transform the simulation. For each variable a
    conditional CDF is fitted, given the protected attributes, the variables before it and the
    sample. A simulated value is replaced by the value of the same quantile in data. As each
    variable is given those before it, the correlations become those of the data too.

    Events of the sample to morph to are not changed. If many events share a value (an atom), some
    of them are drawn at random, so that the share of this value becomes the one in data.

    Args:
        decorrelator: one of the whole distribution; copies are fitted, one for each variable, for
            which the sample is a category. A spline takes two attributes, a flow any number.
        to: the sample to morph to, `{"sample": "data"}`.
        seed: seed of the random numbers that divide the events of an atom.

    Attributes:
        models_: the fitted decorrelator of each variable.

    >>> import numpy as np, pandas as pd
    >>> from unsculpt import SplineDecorrelator
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"sample": np.repeat(["data", "simulation"], 5000)})
    >>> width = rng.normal(np.where(table["sample"] == "data", 0.3, 0.0))
    >>> morphing = Morphing(SplineDecorrelator(), {"sample": "data"})
    >>> morphed = morphing.fit(width, table).transform(width, table)
    >>> bool(abs(np.mean(morphed[5000:] - width[5000:]) - 0.3) < 0.05)
    True
    """

    ending = "morphed"
    models_: list[Any]

    def __init__(self, decorrelator: Any, to: dict[str, Any], seed: int = 0) -> None:
        self.decorrelator = decorrelator
        self.to = to
        self.seed = seed

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the distribution of each variable in all samples, given those before it.

        Args:
            scores: (n,) or (n, k), the variables in the order of the chain.
            protected: the column of the sample, and what else the distributions depend on.
            sample_weight: (n,), negative weights included.
        """
        check_movable(self.decorrelator)
        check_list(self.decorrelator.categorical, "categorical")
        whole_number(self.seed, "seed", 0)
        if not isinstance(self.to, dict) or not self.to:
            raise ValueError(f"to is {self.to!r}; expected a sample, such as {{'sample': 'data'}}")
        columns, table, weight = self._check_fit(scores, protected, sample_weight)
        table = Columns(zip(*protected_columns(table), strict=True))
        if beyond := [name for name in self.to if name not in table]:
            raise ValueError(f"to names {beyond[0]!r}; the protected attributes are {list(table)}")
        own = [_variable(i) for i in range(columns.shape[1] - 1)]
        if taken := [name for name in own if name in table]:
            raise ValueError(
                f"protected has a column {taken[0]!r}, as the chain calls a variable; rename it"
            )
        categories = [*self.to, *(x for x in self.decorrelator.categorical if x not in self.to)]
        models: list[Any] = []
        for i, column in enumerate(columns.T):
            given = _with_earlier(table, columns[:, :i])
            model = clone(self.decorrelator).set_params(categorical=categories)
            models.append(model.fit(column, given, sample_weight=weight))
            if i == 0:
                reference(self.to, model.attributes_, "raise")  # refuses a sample that is none
        self._keep(models_=models, one_column_=np.ndim(scores) == 1)
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the variables as they would be in the sample to morph to.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        columns, _, marked = self._check(scores, protected)
        place, _ = reference(self.to, self.attributes_, "raise")
        own = self.attributes_.names
        here = Columns(zip(own, in_order_of(own, protected), strict=True))
        there = Columns(here)
        stays = np.ones(len(columns), dtype=bool)
        for name, value in (place or {}).items():
            there[name] = np.full(len(columns), value)
            stays &= here[name] == value
        draws, out = Draws.of_events(self.seed, columns, self.attributes_, here), columns.copy()
        for i, model in enumerate(self.models_):
            (at, _), (to, _) = (
                model.attributes_.features(_with_earlier(table, given[:, :i]), None)
                for table, given in ((here, columns), (there, out))
            )
            scatter = partial(draws.uniform, which=i)
            out[:, i] = moved_score(model.cdfs_[0], columns[:, i], at, to, scatter)
            out[stays, i] = columns[stays, i]
        return shaped(out, marked, scores)

    @property
    def n_scores_(self) -> int:
        """How many variables the fit had."""
        return len(self.models_)

    @property
    def attributes_(self) -> ProtectedAttributes:  # type: ignore[override]
        """The protected attributes of the fit, with the sample."""
        return cast("ProtectedAttributes", self.models_[0].attributes_)

    @property
    def outside(self) -> Outside:
        """What becomes of protected values beyond the fitted range."""
        return cast("Outside", getattr(self, "models_", [self.decorrelator])[0].outside)

    @outside.setter
    def outside(self, outside: Outside) -> None:
        for model in [self.decorrelator, *getattr(self, "models_", [])]:
            model.outside = outside

    def __copy__(self) -> Self:
        """Return another with models of its own: `outside` is that of the models."""
        other = type(self)(copy(self.decorrelator), self.to, self.seed)
        own: dict[str, Any] = {"decorrelator": other.decorrelator}
        if hasattr(self, "models_"):
            own["models_"] = [copy(model) for model in self.models_]
        other.__dict__.update(self.__dict__ | own)
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        place, _ = reference(self.to, self.attributes_, "raise")
        own, mark = self.attributes_.graph(graph, protected, self.outside)
        # Ones where the categories of the sample are.
        sample = placed(self.attributes_, np.zeros((1, self.attributes_.width)), place or {})
        stays = own @ sample.T > sample.sum() - 0.5
        out: list[Value] = []
        for i, (model, score) in enumerate(zip(self.models_, scores, strict=True)):
            cdf, attributes = model.cdfs_[0], model.attributes_
            at, moved = (
                attributes.graph(graph, [*protected, *earlier], None)[0]
                for earlier in (scores[:i], out)
            )
            to = placed_graph(graph, attributes, moved, place or {})
            inside = score.clip(*cdf.range)
            level = level_graph(graph, cdf, score, at, i)
            there = cdf.inverse_graph(graph, level, to) + (score - inside)
            out.append(graph.where(stays, score, there))
        return out if mark is None else [score + mark for score in out]

    def _state(self) -> tuple[Arrays, Json]:
        arrays, models = packed_all(self.models_, "variable")
        return arrays, {
            "parameters": {"decorrelator": None, "to": self.to, "seed": self.seed},
            "variables": models,
            "one_column": self.one_column_,
            "protected": models[0]["protected"],
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.models_ = unpacked_all(arrays, metadata["variables"], "variable")
        self.one_column_ = metadata["one_column"]
        self.decorrelator = clone(self.models_[0])


def _with_earlier(table: Columns, variables: Floats) -> Columns:
    """Return the attributes with the variables that come before in the chain."""
    earlier = {_variable(i): column for i, column in enumerate(variables.T)}
    return Columns({**table, **earlier})


def _variable(i: int) -> str:
    """Return what a variable is called among the attributes of those after it."""
    return f"variable {i + 1}"
