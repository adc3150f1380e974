"""Decorrelation of input features with an autoregressive flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.training import PAPER, check_training, summary_of
from unsculpt.decorrelators.feature.coordinates import FeatureCoordinates, base_of
from unsculpt.decorrelators.feature.labels import distinct, label_column, places
from unsculpt.inputs import Floats, Mask, count_events, is_one_column, score_columns, weight_column
from unsculpt.saving import Arrays, Json

if TYPE_CHECKING:
    from unsculpt.flows.autoregressive import AutoregressiveFlow


class FeatureDecorrelator(Decorrelator):
    """Replace features by ones whose background distribution ignores the protected attributes.

    Fit it on background. All features together are mapped to independent standard normal ones, by
    an invertible map that depends on the attributes: four autoregressive rational-quadratic-spline
    layers of ten bins, knots from two residual blocks of 64, identity beyond three standard
    deviations. A classifier trained on them is the "cf-inputs" of Klein and Golling
    (arXiv:2211.02486).

    Many maps decorrelate the background, and they may treat signal differently at different values
    of the attributes, so a classifier on the new features can lose what one on the old ones had:
    decorrelate its score if you can. Where an attribute is a category, a fit on background and
    signal with `labels` helps: the map is then asked to bring each class to its own normal
    distribution, the same in all categories (the paper's appendix A). In general it cannot do so
    exactly, and the background is decorrelated less well.

    Args:
        epochs: passes over the events.
        batch_size: events a step.
        learning_rate: Adam's, annealed to zero by a cosine.
        outside: what becomes of protected values beyond the fitted range: the nearest fitted value
            stands in ("clip", with a warning), an error ("raise"), or NaN ("nan", with a warning).
        categorical: protected columns to treat as categories, by name or position.
        seed: fixes everything random.

    Attributes:
        classes_: the labels of the fit, background first; None if there were none.
        history_: `train_loss`, one for each epoch.
        training_: what the model file says about the fit: events, weights, epochs, final loss.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mass = rng.uniform(50, 300, size=1000)
    >>> features = rng.normal(mass[:, None] / [100, -50], 1)
    >>> flow = FeatureDecorrelator(epochs=20).fit(features, mass)
    >>> normal = flow.transform(features, mass)
    >>> bool(np.abs(np.corrcoef(normal.T, mass)[2, :2]).max() < 0.2)
    True
    """

    coordinates_: FeatureCoordinates
    classes_: list[Any] | None
    flow_: AutoregressiveFlow
    history_: dict[str, Floats]
    training_: Json

    def __init__(
        self,
        *,
        epochs: int = 20,
        batch_size: int = 1024,
        learning_rate: float = 3e-3,
        outside: Outside = "clip",
        categorical: Sequence[str | int] = (),
        seed: int = 0,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.outside = outside
        self.categorical = categorical
        self.seed = seed

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the training of the paper: Adam at 1e-3, batches of 256, 100 epochs.

        Args:
            **parameters: other arguments of the class.
        """
        return cls(**PAPER | parameters)

    def fit(
        self,
        features: ArrayLike,
        protected: Any,
        *,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Learn the features' distribution given the attributes.

        Args:
            features: (n, d), or (n,) for one.
            protected: (n,) or (n, a) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included.
            labels: (n,), for a base distribution by class; the smallest is background. Without
                them all events should be background.
        """
        from unsculpt.progress import progress

        with progress("Loading JAX"):
            from unsculpt.decorrelators.feature.flow import train

        check_training(self)
        columns, protected, weight = self._check_fit(features, protected, sample_weight, "features")
        if labels is not None:
            given = len(score_columns(features, "features"))
            labels = label_column(labels, given)[weight_column(sample_weight, given) != 0]
        classes = None if labels is None else distinct(labels, len(columns))
        which = places(labels, classes, len(columns))

        attributes = ProtectedAttributes.learn(protected, weight, self.categorical)
        inputs, _ = attributes.features(protected, "raise")
        category, categories = attributes.category(inputs)
        coordinates = FeatureCoordinates.measure(columns, category, categories, which > 0, weight)
        x = coordinates(columns, category)
        flow, train_loss = train(
            x,
            inputs,
            which,
            *base_of(x, which),
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=self.seed,
            weight=weight,
        )
        self._keep(
            attributes_=attributes,
            coordinates_=coordinates,
            classes_=classes,
            flow_=flow,
            history_={"train_loss": train_loss},
            training_=summary_of(train_loss, weight),
            one_column_=is_one_column(features),
        )
        return self

    def transform(self, features: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated features: on background, independent and standard normal.

        Args:
            features: (n, f), as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        from unsculpt.decorrelators.feature.flow import forward

        columns, inputs, category, marked = self._inputs(features, protected, "features")
        latent = forward(self.flow_, self.coordinates_(columns, category), inputs)
        return shaped(latent, marked, features)

    def inverse_transform(self, latent: ArrayLike, protected: Any) -> Floats:
        """Return the features whose `transform` is `latent`.

        Args:
            latent: what `transform` returned.
            protected: the attributes of the same events, as in the fit.
        """
        from unsculpt.decorrelators.feature.flow import inverse

        columns, inputs, category, marked = self._inputs(latent, protected, "latent")
        x = inverse(self.flow_, columns, inputs)
        return shaped(self.coordinates_.inverse(x, category), marked, latent)

    def log_prob(
        self, features: ArrayLike, protected: Any, *, labels: ArrayLike | None = None
    ) -> Floats:
        """Return the log density of the features given the attributes, one for each event.

        Of background, unless `labels` say of which class.

        Args:
            features: (n, f), as in the fit.
            protected: the attributes of the same events, as in the fit.
            labels: the class of each event, if the fit had labels.
        """
        from unsculpt.decorrelators.feature.flow import log_prob

        columns, inputs, category, marked = self._inputs(features, protected, "features")
        which = places(labels, self.classes_, len(columns))
        log_density = log_prob(self.flow_, self.coordinates_(columns, category), inputs, which)
        log_density += self.coordinates_.log_volume(category)
        log_density[marked] = np.nan
        return log_density

    def sample(self, protected: Any, *, labels: ArrayLike | None = None, seed: int = 0) -> Floats:
        """Draw features at each value of the attributes.

        Of background, unless `labels` say of which class.

        Args:
            protected: the attributes to draw at, as in the fit.
            labels: the class of each event, if the fit had labels.
            seed: seed of the draws.
        """
        from unsculpt.decorrelators.feature.flow import base

        check_is_fitted(self)
        events = count_events(protected)
        mean, width = base(self.flow_, places(labels, self.classes_, events))
        noise = np.random.default_rng(seed).normal(size=(events, self.n_scores_))
        latent = mean + width * noise
        return self.inverse_transform(latent[:, 0] if self.one_column_ else latent, protected)

    @property
    def n_scores_(self) -> int:
        """How many features the fit had."""
        return int(self.coordinates_.mean.shape[1])

    def _inputs(
        self, values: ArrayLike, protected: Any, name: str
    ) -> tuple[Floats, Floats, NDArray[np.intp], Mask]:
        """Check the input; return columns, network inputs, categories and what becomes NaN."""
        columns, inputs, marked = self._check(values, protected, name)
        return columns, inputs, self.attributes_.category(inputs)[0], marked

    def _state(self) -> tuple[Arrays, Json]:
        from unsculpt.fitting.parameters import parameters_of

        arrays, protected = self.attributes_.state()
        for name in ("mean", "width", "signs"):
            arrays[f"features.{name}"] = getattr(self.coordinates_, name)
        for i, parameter in enumerate(parameters_of(self.flow_)):
            arrays[f"flow.{i}"] = parameter
        arrays["history.train_loss"] = self.history_["train_loss"]
        return arrays, {
            "protected": protected,
            "classes": self.classes_,
            "one_column": self.one_column_,
            "training": self.training_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        from unsculpt.decorrelators.feature.flow import restore

        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        names = ("mean", "width", "signs")
        self.coordinates_ = FeatureCoordinates(*(arrays[f"features.{name}"] for name in names))
        self.classes_ = metadata["classes"]
        flow = [name for name in arrays if name.startswith("flow.")]
        self.flow_ = restore(
            self.attributes_.width,
            len(self.classes_ or [0]) - 1,
            self.n_scores_,
            [arrays[f"flow.{i}"] for i in range(len(flow))],
        )
        self.history_ = {"train_loss": arrays["history.train_loss"]}
        self.one_column_, self.training_ = metadata["one_column"], metadata["training"]
