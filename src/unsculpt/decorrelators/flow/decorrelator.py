"""Decorrelation with a conditional normalizing flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.decorrelators.common.empirical import EmpiricalCDF
from unsculpt.decorrelators.common.misfit import warn_unless_followed
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.replicas import (
    ReplicaDecorrelator,
    numbered,
    replicas_of,
)
from unsculpt.decorrelators.common.training import PAPER, check_training, summary_of, training_of
from unsculpt.decorrelators.flow.cdf import FlowCDF
from unsculpt.inputs import Floats, is_one_column
from unsculpt.saving import Arrays, Json


class FlowDecorrelator(ReplicaDecorrelator[FlowCDF]):
    """Replace a score by its conditional CDF, learned with a monotone flow.

    Fit it on background. At every value of the protected attributes the new score is uniform on
    [0, 1] on background and keeps the order of the old one, so what separates signal from
    background there is untouched (Klein and Golling, arXiv:2211.02486).

    The default recipe is ours. The score enters through its inclusive empirical CDF, so any scale
    works; an attribute enters halfway between its CDF and its range. A small network that is
    smooth in the attributes shifts and stretches the logit and bends it with one
    rational-quadratic spline. Eight such flows are averaged. `FlowDecorrelator.paper()` is the
    paper's. A fit that does not follow its events warns.

    Args:
        members: flows in the ensemble; their mean is the answer.
        replicas: further flows, trained on resampled events, from which `uncertainty` and
            `variations` come; 20 will do. They do not change the map, and a fit with them takes
            2.3 times as long.
        epochs: passes over the events; None for 20, and fewer for more than 200,000 events.
        batch_size: events a step; None for a hundredth of the events, from 64 to 4096.
        learning_rate: Adam's, annealed to zero by a cosine.
        validation: fraction of the events each flow holds out, other ones for each; the epoch
            that is best on them is kept. With none, all events are used and the last epoch is
            kept: measured, that decorrelates better, and an ensemble hardly overfits.
        outside: what becomes of protected values beyond the fitted range: the nearest fitted
            value stands in ("clip", with a warning that counts them), an error ("raise"), or
            NaN ("nan", with a warning). A category not seen in the fit has no nearest one and
            raises under "clip" too.
        categorical: protected columns to treat as categories, by name or position.
        recipe: "smooth" is ours, "paper" the paper's architecture and coordinates.
        seed: fixes everything random.

    Attributes:
        history_: `train_loss` and `validation_loss` (epochs, flows), and the `best_epoch` each
            flow was taken from, counted from 0.
        training_: what the model file says about the fit: events, weights, epochs, final loss.

    >>> import numpy as np
    >>> from unsculpt.datasets import toys
    >>> toy = toys.smooth(2000, 100, seed=1)
    >>> b = toy.background
    >>> flow = FlowDecorrelator(seed=0).fit(toy.score[b], toy.protected[b])
    >>> flat = flow.transform(toy.score, toy.protected)
    >>> bool(np.all((flat >= 0) & (flat <= 1)))
    True
    >>> cut = flow.threshold(0.01, protected=[0.2, 0.8])  # keeps 1% of background at each value
    """

    method = "flow"
    history_: dict[str, NDArray[Any]]
    training_: Json

    def __init__(
        self,
        *,
        members: int = 8,
        replicas: int = 0,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-2,
        validation: float = 0.0,
        outside: Outside = "clip",
        categorical: Sequence[str | int] = (),
        recipe: Literal["smooth", "paper"] = "smooth",
        seed: int = 0,
    ) -> None:
        self.members = members
        self.replicas = replicas
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation = validation
        self.outside = outside
        self.categorical = categorical
        self.recipe = recipe
        self.seed = seed

    @classmethod
    def paper(cls, *, seed: int = 0, **parameters: Any) -> Self:
        """Return a decorrelator with the recipe of the paper, exactly.

        Three rational-quadratic-spline layers of 8 bins, knots from two residual blocks of 64,
        uniform base on [0, 1]; Adam at 1e-3 annealed to zero by a cosine, batches of 256, 100
        epochs, the last one kept. Score and attributes are scaled to their range only.

        Args:
            seed: seed of the training.
            **parameters: other arguments of the class.
        """
        recipe: dict[str, Any] = PAPER | {"members": 1, "recipe": "paper"}
        return cls(seed=seed, **recipe | parameters)

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the score's distribution given the attributes from background events.

        Args:
            scores: (n,), or (n, k) for k scores of the same events, each decorrelated by itself
                and all of them trained in one program.
            protected: (n,) or (n, a) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        from unsculpt.progress import progress

        with progress("Loading JAX"):
            from unsculpt.decorrelators.flow.ensemble import train
            from unsculpt.fitting.parameters import parameters_of

        self._check_parameters()
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)

        paper = self.recipe == "paper"
        attributes = ProtectedAttributes.learn(
            protected, weight, self.categorical, by_range=1.0 if paper else 0.5
        )
        features, _ = attributes.features(protected, "raise")
        coordinates = [EmpiricalCDF.measure(c, weight, 2 if paper else 1024) for c in columns.T]
        rng = np.random.default_rng([self.seed, 1])  # not the engine's stream
        levels = [f.without_atoms(c, rng) for f, c in zip(coordinates, columns.T, strict=True)]

        how: dict[str, Any] = {
            "weight": weight,
            "validation": self.validation,
            "keep": "best" if self.validation else "last",
        } | training_of(self, len(columns))
        events = self.recipe, np.column_stack(levels), features
        fitted = train(*events, members=self.members, **how)
        members = self.members
        cdfs = [
            FlowCDF(
                coordinate,
                # Where a table needs nodes: at the quantiles of the sample.
                coordinate(EmpiricalCDF.measure(column, weight).quantiles),
                self.recipe,
                attributes.width,
                parameters_of(fitted.model, slice(i * members, (i + 1) * members)),
                attributes.one_axis,
            )
            for i, (coordinate, column) in enumerate(zip(coordinates, columns.T, strict=True))
        ]
        warn_unless_followed(cdfs, columns, features, protected, weight)
        self._keep(
            attributes_=attributes,
            cdfs_=cdfs,
            replicas_=self._trained_replicas(cdfs, train, events, how),
            share_=None,
            history_={
                "train_loss": fitted.train_loss,
                "validation_loss": fitted.validation_loss,
                "best_epoch": fitted.best_epoch,
            },
            training_=summary_of(fitted.train_loss, weight),
            one_column_=is_one_column(scores),
            background_=Background.measure(attributes, features, weight),
        )
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the conditional CDF of each score, on [0, 1].

        With one continuous attribute the flow is tabulated once and interpolated, which costs a
        few reads of memory an event. It agrees with the flow itself to 3e-4 on a smooth tagger;
        in a long tail of the attribute mostly to 1e-3, for single events to 5e-3.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        return super().transform(scores, protected)

    def log_prob(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the log density of each score given the attributes.

        In units of the score; at an atom, where many events share a score, roughly the log of
        its probability.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        check_is_fitted(self)
        if self.share_ is not None:
            raise ValueError("a variation is a table and has no density; ask the nominal model")
        return self._each([cdf.log_density for cdf in self.cdfs_], scores, protected)

    def sample(self, protected: Any, *, seed: int = 0) -> Floats:
        """Draw a background score, in the range of the fit, at each value of the attributes.

        Args:
            protected: the attributes to draw at, as in the fit.
            seed: seed of the draws.
        """
        check_is_fitted(self)
        levels = np.random.default_rng(seed).uniform(size=self._shape(protected))
        return self._in_range(levels, protected)

    def _check_parameters(self) -> None:
        check_training(self)
        if not 0 <= self.validation <= 0.9:
            raise ValueError(f"validation is {self.validation!r}; expected a fraction up to 0.9")

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self.attributes_.state()
        arrays |= self.background_.state() if self.background_ else {}
        for i, cdf in enumerate(self.cdfs_):
            arrays |= cdf.coordinate.state(f"score.{i}")
            arrays[f"score.{i}.nodes"] = cdf.nodes
            for j, parameter in enumerate(cdf.parameters):
                arrays[f"score.{i}.flow.{j}"] = parameter
            if cdf.table is not None:
                # So that who only transforms need not wait for JAX and the flows.
                arrays[f"score.{i}.table"] = cdf.table.values
        arrays |= self._replica_arrays()
        arrays |= {f"history.{name}": losses for name, losses in self.history_.items()}
        # What was fitted; the parameters may have been changed for a next fit since.
        return arrays, {
            "protected": protected,
            "scores": [{"range": cdf.range} for cdf in self.cdfs_],
            "one_column": self.one_column_,
            "recipe": self.cdfs_[0].recipe,
            "training": self.training_,
            "share": self.share_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.background_ = Background.restore(arrays)
        # Tails were further inputs of the networks; a file may say that there are none.
        if len(arrays.get("tails.offset", ())):
            raise ValueError("the file has a flow of an earlier version with tails; fit it again")
        self.cdfs_ = []
        for i in range(len(metadata["scores"])):
            self.cdfs_.append(
                FlowCDF(
                    EmpiricalCDF.restore(arrays, f"score.{i}"),
                    arrays[f"score.{i}.nodes"],
                    metadata["recipe"],
                    self.attributes_.width,
                    numbered(arrays, f"score.{i}.flow"),
                    self.attributes_.one_axis,
                    arrays.get(f"score.{i}.table"),
                )
            )
        self.replicas_ = replicas_of(self.cdfs_, numbered(arrays, "replicas"))
        names = ("train_loss", "validation_loss", "best_epoch")
        self.history_ = {name: arrays[f"history.{name}"] for name in names}
        self.one_column_, self.training_ = metadata["one_column"], metadata["training"]
        self.share_ = metadata.get("share")
