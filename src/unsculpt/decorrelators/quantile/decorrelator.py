"""Decorrelation with quantile regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.efficiencies import at_each
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.misfit import warn_unless_followed
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.replicas import (
    ReplicaDecorrelator,
    numbered,
    replicas_of,
)
from unsculpt.decorrelators.common.training import PAPER, check_training, training_of
from unsculpt.decorrelators.quantile.cdf import QuantileCDF
from unsculpt.decorrelators.quantile.coverage import Coverage, groups_of
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats, event_weights, is_one_column
from unsculpt.saving import Arrays, Json


class QuantileDecorrelator(ReplicaDecorrelator[QuantileCDF]):
    """Learn the score cuts that keep fixed fractions of background at every protected value.

    Quantile regression with the pinball loss (Koenker and Bassett, Econometrica 46 (1978) 33), as
    Klein and Golling use it in arXiv:2211.02486: less to learn than a flow where the working
    points are known beforehand, and nothing between them. The quantiles cannot cross: a network
    of three hidden layers of 64 predicts the lowest and positive steps up to the others.

    The default recipe is ours: score and attributes enter through their inclusive empirical CDFs,
    the network is smooth and starts at the inclusive quantiles, and four are averaged.
    `QuantileDecorrelator.paper()` has the paper's settings.

    Args:
        quantiles: fractions of the background below the cuts.
        continuous: whether `transform` gives a monotone spline through the quantiles instead of
            the highest quantile passed. Beyond the outermost ones it follows the inclusive
            distribution, shifted. May be changed without a new fit.
        members: networks in the ensemble; their mean is the answer.
        replicas: further networks, trained on resampled events, from which `uncertainty` and
            `variations` come; 20 will do. They do not change the map, and a fit with them takes
            four times as long.
        epochs: passes over the events; None for 20, and fewer for more than 200,000 events.
        batch_size: events a step; None for a hundredth of the events, from 64 to 4096.
        learning_rate: Adam's, annealed to zero by a cosine.
        outside: what becomes of protected values beyond the fitted range, as for
            `FlowDecorrelator`; `select` does not select what `transform` marks with NaN.
        categorical: protected columns to treat as categories, by name or position.
        recipe: "smooth" is ours, "paper" the paper's coordinates and activation.
        seed: fixes everything random.

    Attributes:
        history_: `train_loss`, (epochs, networks).

    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 0, seed=1)
    >>> regression = QuantileDecorrelator(epochs=5).fit(toy.score, toy.protected)
    >>> regression.thresholds([0.2, 0.8]).shape
    (2, 4)
    >>> levels = regression.transform(toy.score, toy.protected)
    >>> [float(level) for level in sorted(set(levels))]
    [0.0, 0.5, 0.9, 0.95, 0.99]
    """

    method = "quantile"
    history_: dict[str, Floats]

    def __init__(
        self,
        quantiles: Sequence[float] = (0.5, 0.9, 0.95, 0.99),
        *,
        continuous: bool = False,
        members: int = 4,
        replicas: int = 0,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 3e-3,
        outside: Outside = "clip",
        categorical: Sequence[str | int] = (),
        recipe: Literal["smooth", "paper"] = "smooth",
        seed: int = 0,
    ) -> None:
        self.quantiles = quantiles
        self.continuous = continuous
        self.members = members
        self.replicas = replicas
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.outside = outside
        self.categorical = categorical
        self.recipe = recipe
        self.seed = seed

    @classmethod
    def paper(cls, *, seed: int = 0, **parameters: Any) -> Self:
        """Return a decorrelator with the settings of the paper.

        Three hidden layers of 64 ReLU nodes, Adam at 1e-3 annealed to zero by a cosine, batches of
        256, 100 epochs, the last one kept. Score and attributes are scaled to their range only.
        That the quantiles cannot cross is ours.

        Args:
            seed: seed of the training.
            **parameters: other arguments of the class.
        """
        recipe: dict[str, Any] = PAPER | {"members": 1, "recipe": "paper"}
        return cls(seed=seed, **recipe | parameters)

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the quantiles of the score given the attributes from background events.

        Args:
            scores: (n,), or (n, k) for k scores of the same events, each by itself and all of
                them trained in one program.
            protected: (n,) or (n, a) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included: the weighted loss is minimised.
        """
        from unsculpt.progress import progress

        with progress("Loading JAX"):
            from unsculpt.decorrelators.quantile.network import train
            from unsculpt.fitting.parameters import parameters_of

        check_training(self)
        quantiles = _levels(self.quantiles)
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        paper = self.recipe == "paper"
        attributes = ProtectedAttributes.learn(
            protected, weight, self.categorical, by_range=1.0 if paper else 0.5
        )
        features, _ = attributes.features(protected, "raise")
        inclusive = [EmpiricalCDF.measure(c, weight) for c in columns.T]
        coordinates = (
            [EmpiricalCDF.measure(c, weight, 2) for c in columns.T] if paper else inclusive
        )
        rng = np.random.default_rng([self.seed, 1])  # not the engine's stream
        targets = np.column_stack(
            [f.without_atoms(c, rng) for f, c in zip(coordinates, columns.T, strict=True)]
        )
        start = np.stack(
            [f(own.inverse(quantiles)) for f, own in zip(coordinates, inclusive, strict=True)]
        )
        if not paper:
            targets, start = logit(targets), logit(start)

        members = int(self.members)
        events = self.recipe, targets, features, start, quantiles
        how = {"weight": weight} | training_of(self, len(columns))
        fitted = train(*events, members=members, **how)
        cdfs = [
            QuantileCDF(
                coordinate,
                parameters_of(fitted.model, slice(i * members, (i + 1) * members)),
                quantiles,
                self.recipe,
                attributes.width,
                attributes.one_axis,
            )
            for i, coordinate in enumerate(coordinates)
        ]
        warn_unless_followed(cdfs, columns, features, protected, weight, quantiles)
        self._keep(
            attributes_=attributes,
            cdfs_=cdfs,
            replicas_=self._trained_replicas(cdfs, train, events, how),
            share_=None,
            history_={"train_loss": fitted.train_loss},
            one_column_=is_one_column(scores),
            background_=Background.measure(attributes, features, weight),
        )
        return self

    def thresholds(self, protected: Any) -> Floats:
        """Return the score cut at each quantile, (n, q), or (n, k, q) for k scores.

        Args:
            protected: the attributes, as in the fit.
        """
        return self._thresholds(protected)

    def select(self, scores: ArrayLike, protected: Any, quantile: float) -> NDArray[np.bool_]:
        """Return which scores are at or above the cut at one of the fitted quantiles.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
            quantile: one of the fitted quantiles.
        """
        check_is_fitted(self)
        passed = self._each([cdf.level for cdf in self.cdfs_], scores, protected)
        return np.asarray(passed >= self._fitted[self._position(quantile)])

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the highest quantile passed: the fraction of background below, 0 if none.

        With `continuous`, a monotone spline through the quantiles.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        if self.continuous:
            return super().transform(scores, protected)
        check_is_fitted(self)
        return self._each([cdf.level for cdf in self.cdfs_], scores, protected)

    def inverse_transform(self, levels: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose continuous `transform` is `levels`.

        Args:
            levels: values of the new score, from 0 to 1.
            protected: the attributes of the same events, as in the fit.
        """
        if not self.continuous:
            raise ValueError(
                "continuous is False: many scores share a level, so there is no inverse; "
                "call set_params(continuous=True), or thresholds for the cuts"
            )
        return super().inverse_transform(levels, protected)

    def threshold(self, efficiency: ArrayLike, protected: Any) -> Floats:
        """Return the score cut that keeps a fraction of the background at each protected value.

        One of the fitted quantiles has to be 1 - efficiency, unless `continuous`. Of m efficiencies
        it returns all cuts, (n, m), or (n, k, m) for k scores.

        Args:
            efficiency: the fraction of background to keep, or several of them.
            protected: the attributes of the same events, as in the fit.
        """
        if self.continuous:
            return super().threshold(efficiency, protected)
        check_is_fitted(self)
        cuts = self._thresholds(protected)
        return at_each(lambda share: cuts[..., self._position(1 - share)], efficiency)

    def coverage(
        self,
        scores: ArrayLike,
        protected: Any,
        *,
        bins: int | ArrayLike = 10,
        attribute: str | int = 0,
        sample_weight: ArrayLike | None = None,
    ) -> Coverage:
        """Return the fraction of background below each quantile, in bins of an attribute.

        Judge on background that the fit has not seen. Events that `transform` marks with NaN
        are in no bin.

        Args:
            scores: (n,) or (n, k), of background.
            protected: as in the fit.
            bins: a number of equal bins, or the edges; a category is a bin by itself.
            attribute: which protected column makes the bins, by name or position.
            sample_weight: (n,), negative weights included.
        """
        check_is_fitted(self)
        levels = self._each([cdf.level for cdf in self.cdfs_], scores, protected)
        marked = np.isnan(levels.reshape(len(levels), -1)).any(axis=1)
        weight = np.where(marked, 0.0, event_weights(sample_weight, len(levels)))
        below = levels[..., None] < self._fitted
        groups = groups_of(*self.attributes_.column(protected, attribute), bins)
        return Coverage.measure(below, self._fitted, groups, weight)

    @property
    def _fitted(self) -> Floats:
        """The quantiles of the fit; the parameter may have been changed for a next one since."""
        return self.cdfs_[0].quantiles

    def _position(self, quantile: float) -> int:
        near = np.flatnonzero(np.isclose(self._fitted, quantile, rtol=0, atol=1e-9))
        if not len(near):
            known = ", ".join(f"{q:g}" for q in self._fitted)
            raise ValueError(
                f"the quantile {quantile:g} was not fitted, but {known}; add it to quantiles "
                "and fit again, or set continuous=True for what lies between"
            )
        return int(near[0])

    def _thresholds(self, protected: Any) -> Floats:
        check_is_fitted(self)
        features, marked = self.attributes_.features(protected, self.outside)
        out = np.stack([cdf.thresholds(features) for cdf in self.cdfs_], axis=1)
        out[marked] = np.nan
        return out[:, 0] if self.one_column_ else out

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        if self.continuous:
            return super()._graph(graph, scores, protected)
        features, mark = self.attributes_.graph(graph, protected, self.outside)
        passed = [
            cdf.graph_level(graph, score, features)
            for cdf, score in zip(self.cdfs_, scores, strict=True)
        ]
        return passed if mark is None else [level + mark for level in passed]

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self.attributes_.state()
        arrays |= self.background_.state() if self.background_ else {}
        for i, cdf in enumerate(self.cdfs_):
            arrays |= cdf.coordinate.state(f"score.{i}")
            for j, parameter in enumerate(cdf.parameters):
                arrays[f"score.{i}.network.{j}"] = parameter
            if cdf.table_values is not None:
                arrays[f"score.{i}.knots"] = cdf.table_values
        arrays |= self._replica_arrays()
        arrays |= {"quantiles": self._fitted, "history.train_loss": self.history_["train_loss"]}
        return arrays, {
            "protected": protected,
            "scores": len(self.cdfs_),
            "one_column": self.one_column_,
            "recipe": self.cdfs_[0].recipe,
            "share": self.share_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.background_ = Background.restore(arrays)
        self.cdfs_ = []
        for i in range(metadata["scores"]):
            self.cdfs_.append(
                QuantileCDF(
                    EmpiricalCDF.restore(arrays, f"score.{i}"),
                    numbered(arrays, f"score.{i}.network"),
                    arrays["quantiles"],
                    metadata["recipe"],
                    self.attributes_.width,
                    self.attributes_.one_axis,
                    arrays.get(f"score.{i}.knots"),
                )
            )
        self.replicas_ = replicas_of(self.cdfs_, numbered(arrays, "replicas"))
        self.history_ = {"train_loss": arrays["history.train_loss"]}
        self.one_column_, self.share_ = metadata["one_column"], metadata.get("share")


def _levels(quantiles: Sequence[float]) -> Floats:
    levels = np.asarray(quantiles, dtype=float)
    if levels.ndim != 1 or not len(levels) or not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"quantiles is {quantiles}; expected numbers between 0 and 1")
    if np.any(np.diff(levels) <= 0):
        raise ValueError(f"quantiles is {quantiles}; expected rising numbers, each once")
    return levels
