"""Decorrelation of input features with an autoregressive flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.chunks import in_chunks
from unsculpt.decorrelators.feature_coordinates import (
    FeatureCoordinates,
    base_of,
    category_of,
)
from unsculpt.decorrelators.labels import distinct, places
from unsculpt.decorrelators.parameters import check_training
from unsculpt.decorrelators.protected import Outside, ProtectedAttributes
from unsculpt.decorrelators.scores import events_of_fit
from unsculpt.fitting import fit
from unsculpt.flows import AutoregressiveFlow
from unsculpt.models.inputs import Floats, count_events, same_length, score_columns


class FeatureDecorrelator(Decorrelator):
    """Replaces features by ones whose background distribution ignores the protected attributes.

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
        """The training of the paper: Adam at 1e-3, batches of 256, 100 epochs."""
        return cls(**{"epochs": 100, "batch_size": 256, "learning_rate": 1e-3} | parameters)

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
        check_training(self)
        columns, weight = events_of_fit(
            features, protected, sample_weight, self.outside, "features"
        )
        events = len(columns)
        classes = None if labels is None else distinct(labels, events)
        which = places(labels, classes, events)

        attributes = ProtectedAttributes.of(protected, weight, self.categorical, linear=False)
        inputs, _ = attributes.features(protected, "raise")
        category, categories = category_of(attributes, inputs)
        coordinates = FeatureCoordinates.of(columns, category, categories, which > 0, weight)
        x = coordinates(columns, category)
        fitted = fit(
            _new_flow(inputs.shape[1], *base_of(x, which), self.seed),
            _negative_log_likelihood,
            (x.astype("f4"), inputs.astype("f4"), which),
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            seed=self.seed,
            weight=weight,
            additive=True,
            title="Fitting the flow",
        )
        # All at once and last, so that an interrupted fit leaves the previous one as it was.
        self.attributes_, self.coordinates_, self.classes_ = attributes, coordinates, classes
        self.flow_: AutoregressiveFlow = jax.tree.map(lambda leaf: leaf[0], fitted.model)
        self.history_ = {"train_loss": fitted.train_loss[:, 0]}
        self.training_ = {
            "events": events,
            "sum_of_weights": float(weight.sum()),
            "epochs": len(fitted.train_loss),
            "final_loss": float(fitted.train_loss[-1, 0]),
        }
        self.one_column_ = np.ndim(features) == 1
        return self

    def transform(self, features: ArrayLike, protected: Any) -> Floats:
        """Return the decorrelated features: on background, independent and standard normal."""
        columns, inputs, category, marked = self._inputs(features, protected, "features")
        (latent,) = in_chunks(_evaluate, self.flow_, self.coordinates_(columns, category), inputs)
        return _shaped(latent.T, marked, features)

    def inverse_transform(self, latent: ArrayLike, protected: Any) -> Floats:
        """Return the features whose `transform` is `latent`."""
        columns, inputs, category, marked = self._inputs(latent, protected, "latent")
        (x,) = in_chunks(_invert, self.flow_, columns, inputs)
        return _shaped(self.coordinates_.inverse(x.T, category), marked, latent)

    def log_prob(
        self, features: ArrayLike, protected: Any, *, labels: ArrayLike | None = None
    ) -> Floats:
        """Return the log density of the features given the attributes, one for each event.

        Of background, unless `labels` say of which class.
        """
        columns, inputs, category, marked = self._inputs(features, protected, "features")
        which = places(labels, self.classes_, len(columns))
        x = self.coordinates_(columns, category)
        (log_density,) = in_chunks(_log_prob, self.flow_, x, inputs, which)
        log_density += self.coordinates_.log_volume(category)
        log_density[marked] = np.nan
        return log_density

    def sample(self, protected: Any, *, labels: ArrayLike | None = None, seed: int = 0) -> Floats:
        """Draw features at each value of the attributes.

        Of background, unless `labels` say of which class.
        """
        check_is_fitted(self)
        events = count_events(protected)
        mean, width = self.flow_.base(jnp.asarray(places(labels, self.classes_, events)))
        noise = np.random.default_rng(seed).normal(size=(events, self._width))
        latent = np.asarray(mean, float) + np.asarray(width, float) * noise
        return self.inverse_transform(latent[:, 0] if self.one_column_ else latent, protected)

    @property
    def _width(self) -> int:
        """How many features the fit had."""
        return int(self.coordinates_.mean.shape[1])

    def _inputs(
        self, values: ArrayLike, protected: Any, name: str
    ) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[np.bool_]]:
        """Check the input; return columns, network inputs, categories and what becomes NaN."""
        check_is_fitted(self)
        columns = score_columns(values, name)
        events, n_features = columns.shape
        if n_features != self._width:
            raise ValueError(f"{name} has {n_features} columns; the fit had {self._width}")
        same_length(events, name, protected=count_events(protected))
        inputs, marked = self.attributes_.features(protected, self.outside)
        category, _ = category_of(self.attributes_, inputs)
        return columns, inputs, category, marked

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, protected = self.attributes_.state()
        for name in ("mean", "width", "signs"):
            arrays[f"features.{name}"] = getattr(self.coordinates_, name)
        for i, leaf in enumerate(jax.tree.leaves(self.flow_)):
            arrays[f"flow.{i}"] = np.asarray(leaf)
        arrays["history.train_loss"] = self.history_["train_loss"]
        return arrays, {
            "protected": protected,
            "classes": self.classes_,
            "one_column": self.one_column_,
            "training": self.training_,
        }

    def _restore(self, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        self.attributes_ = ProtectedAttributes.restore(arrays, about["protected"])
        names = ("mean", "width", "signs")
        self.coordinates_ = FeatureCoordinates(*(arrays[f"features.{name}"] for name in names))
        self.classes_ = about["classes"]
        others = np.zeros((len(self.classes_ or [0]) - 1, self._width))
        shapes = eqx.filter_eval_shape(_new_flow, self.attributes_.width, others, others, 0)
        leaves, structure = jax.tree.flatten(shapes)
        self.flow_ = jax.tree.unflatten(
            structure, [arrays[f"flow.{i}"] for i in range(len(leaves))]
        )
        self.history_ = {"train_loss": arrays["history.train_loss"]}
        self.one_column_, self.training_ = about["one_column"], about["training"]


def _shaped(columns: Floats, marked: NDArray[np.bool_], like: ArrayLike) -> Floats:
    """Mark what is outside, and return one column as the input was."""
    columns = np.where(marked[:, None], np.nan, columns)
    return columns[:, 0] if np.ndim(like) == 1 else columns


@eqx.filter_jit
def _new_flow(inputs: int, means: Floats, log_widths: Floats, seed: int) -> AutoregressiveFlow:
    """Return an untrained flow with the leading axis of one member."""
    flow = AutoregressiveFlow(
        inputs, jnp.asarray(means, "f4"), jnp.asarray(log_widths, "f4"), key=jax.random.key(seed)
    )
    stacked: AutoregressiveFlow = jax.tree.map(lambda leaf: leaf[None], flow)
    return stacked


def _negative_log_likelihood(
    flow: AutoregressiveFlow, batch: tuple[Array, Array, Array], weight: Array, _: None
) -> Array:
    return -(weight * jax.vmap(flow.log_prob)(*batch)).mean()


@eqx.filter_jit
def _evaluate(
    flow: AutoregressiveFlow, x: Float[Array, "n d"], inputs: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"]]:
    latent, _ = jax.vmap(flow)(x, inputs)
    return (latent.T,)


@eqx.filter_jit
def _invert(
    flow: AutoregressiveFlow, latent: Float[Array, "n d"], inputs: Float[Array, "n f"]
) -> tuple[Float[Array, "d n"]]:
    return (jax.vmap(flow.inverse)(latent, inputs).T,)


@eqx.filter_jit
def _log_prob(
    flow: AutoregressiveFlow,
    x: Float[Array, "n d"],
    inputs: Float[Array, "n f"],
    which: Int[Array, " n"],
) -> tuple[Float[Array, " n"]]:
    return (jax.vmap(flow.log_prob)(x, inputs, which),)
