"""Neural-network classifiers with scikit-learn manners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unsculpt.classifiers.recipe import Recipe
from unsculpt.classifiers.sample import Sample, feature_table
from unsculpt.decorrelators.chain import Chain
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays, Json, Model

if TYPE_CHECKING:
    from unsculpt.classifiers.training import Trained


class Classifier(ClassifierMixin, Model):  # type: ignore[misc]
    """Train a fully connected network on cross entropy and, if wanted, against sculpting.

    The loss is the cross entropy plus `alpha` times a penalty on how much the score of background
    events, those of the first class, knows of the protected attributes (Klein and Golling,
    arXiv:2211.02486, compare such classifiers and put a flow on top). The score is the predicted
    probability of signal; with several signal classes the penalty is the mean over theirs.

    Features are brought to mean zero and variance one inside, so their units do not matter.
    The defaults are the paper's plain network; `vdnn`, `disco`, `mode` and `adversarial` are its
    recipes by name. `double_disco` has two heads that must not know each other. `fit_many` trains
    many at once.

    Args:
        hidden: nodes of each hidden layer.
        activation: "relu" or "swish".
        batch_normalisation: whether it follows the first layer. It takes its statistics from the
            batch in training and from all training events in prediction.
        heads: 1, or 2 for two scores of one signal class, with the penalty between them.
        penalty: "distance_correlation", "moment_decomposition", "adversary", any function
            `penalty(scores, protected, sample_weight=...)` of JAX arrays, or None.
        penalty_options: further arguments of the penalty.
        alpha: strength of the penalty; zero is the classifier without it, to the last bit.
        epochs: passes over the events.
        batch_size: events a step.
        learning_rate: Adam's, annealed to zero by a cosine.
        seed: fixes everything random.

    Attributes:
        classes_: the labels, background first.
        history_: `train_loss`, one for each epoch.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mass, y = rng.normal(size=1000), rng.integers(2, size=1000)
    >>> X = np.column_stack([mass + y, rng.normal(size=1000) + y])
    >>> dnn = Classifier.disco(alpha=10, epochs=5, batch_size=250).fit(X, y, protected=mass)
    >>> dnn.predict_proba(X).shape
    (1000, 2)
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (64, 64, 64),
        activation: Literal["relu", "swish"] = "relu",
        batch_normalisation: bool = False,
        heads: int = 1,
        penalty: str | Callable[..., Any] | None = None,
        penalty_options: dict[str, Any] | None = None,
        alpha: float = 0.0,
        epochs: int = 100,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.batch_normalisation = batch_normalisation
        self.heads = heads
        self.penalty = penalty
        self.penalty_options = penalty_options
        self.alpha = alpha
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed

    @classmethod
    def vdnn(cls, **parameters: Any) -> Self:
        """Return the paper's plain network: three layers of 64, ReLU, batches of 256.

        Args:
            **parameters: other arguments of the class.
        """
        return cls(**parameters)

    @classmethod
    def disco(cls, alpha: float, **parameters: Any) -> Self:
        """Return the paper's network with distance correlation: Swish, batches of 2048.

        G. Kasieczka and D. Shih, arXiv:2001.05310. The penalty is the square of the distance
        correlation, which their code calls the distance correlation: the strengths of their paper
        and of this one are for the square.

        Args:
            alpha: the strength of the penalty.
            **parameters: other arguments of the class.
        """
        options = {"power": 2} | (parameters.pop("penalty_options", None) or {})
        return cls._swish(
            "distance_correlation", alpha, 2048, parameters | {"penalty_options": options}
        )

    @classmethod
    def double_disco(cls, alpha: float, **parameters: Any) -> Self:
        """Return a network of two scores that do not know each other on background, for ABCD.

        G. Kasieczka, B. Nachman, M. Schwartz and D. Shih, "ABCDisCo" (arXiv:2007.14400): the cross
        entropies of both, and `alpha` times the square of their distance correlation. They train
        two networks; here two heads share the hidden layers of `disco`. `scores` returns both,
        and `fit` takes no `protected`.

        Args:
            alpha: the strength of the penalty.
            **parameters: other arguments of the class.

        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(2, size=1000)
        >>> X = rng.normal(size=(1000, 4)) + y[:, None]
        >>> dnn = Classifier.double_disco(10, epochs=5, batch_size=250).fit(X, y)
        >>> first, second = dnn.scores(X).T
        """
        return cls.disco(alpha, **{"heads": 2} | parameters)

    @classmethod
    def mode(cls, alpha: float, order: int = 0, **parameters: Any) -> Self:
        """Return the paper's network with moment decomposition: Swish, batches of 16,384.

        O. Kitouni, B. Nachman, C. Weisser and M. Williams, arXiv:2010.09745. Order 0 asks for a
        flat response, 1 for one linear in the attribute, 2 for a quadratic one.

        Args:
            alpha: the strength of the penalty.
            order: the order of the polynomials in the attribute that cost nothing.
            **parameters: other arguments of the class.
        """
        options = {"order": order} | (parameters.pop("penalty_options", None) or {})
        return cls._swish(
            "moment_decomposition", alpha, 2**14, parameters | {"penalty_options": options}
        )

    @classmethod
    def adversarial(cls, strength: float, **parameters: Any) -> Self:
        """Return the same network against an adversary, with batches of 2048, Adam at 1e-4.

        The adversary infers the attributes from the score of background events, and the
        classifier pays `strength` times its success; the literature calls it λ, which is a
        reserved word in Python (G. Louppe, M. Kagan and K. Cranmer, arXiv:1611.01046; C. Shimmin
        et al., arXiv:1703.03507).

        Args:
            strength: how much the adversary counts.
            **parameters: other arguments of the class.
        """
        # A classifier that moves faster outruns its adversary: both then go round in circles.
        return cls._swish("adversary", strength, 2048, {"learning_rate": 1e-4} | parameters)

    @classmethod
    def _swish(cls, penalty: str, alpha: float, batch_size: int, changes: dict[str, Any]) -> Self:
        recipe: dict[str, Any] = {
            "activation": "swish",
            "batch_normalisation": True,
            "penalty": penalty,
            "alpha": alpha,
            "batch_size": batch_size,
        }
        return cls(**recipe | changes)

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        protected: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn to tell the classes apart.

        Args:
            X: (n, f) features, or a table with named columns.
            y: (n,) labels; the first of them in order is background.
            protected: (n,) or (n, a) numbers, needed if there is a penalty, unless that is between
                two heads.
            sample_weight: (n,), negative weights included.
        """
        fit_many([self], X, y, protected=protected, sample_weight=sample_weight)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of signal over background, (n,); (n, classes) if there are more.

        It resolves what `predict_proba` rounds to one.

        Args:
            X: the features, (n, f).
        """
        log_odds = self._log_odds(X)
        return log_odds[:, 1] if len(self.classes_) == 2 else log_odds

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (n, classes).

        Args:
            X: the features, (n, f).
        """
        return np.asarray(softmax(self._log_odds(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each event.

        Args:
            X: the features, (n, f).
        """
        log_odds = self._log_odds(X)
        return np.asarray(self.classes_[log_odds.argmax(axis=1)])

    def scores(self, X: Any) -> Floats:
        """Return the log odds of signal by each head, (n, heads).

        Of several signal classes, of each of them over background, (n, classes - 1). The other
        methods take the mean of two heads.

        Args:
            X: the features, (n, f).
        """
        from unsculpt.classifiers.network import evaluate

        check_is_fitted(self)
        checked = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        names = getattr(self, "feature_names_in_", [])
        features = (feature_table(checked, names) - self.centre_) / self.width_
        return evaluate(self.network_, features)

    def _log_odds(self, X: Any) -> Floats:
        """Return the log odds of each class over background, whose own are zero."""
        scores = self.scores(X)
        if self.heads == 2:
            scores = scores.mean(axis=1, keepdims=True)
        return np.pad(scores, [(0, 0), (1, 0)])

    def then(self, second: Any) -> Chain:
        """Return this classifier with a decorrelator on top of it, as one `Chain`.

        Args:
            second: the decorrelator or the chain to put on top.
        """
        return Chain([self]).then(second)

    def _learned(
        self,
        trained: Trained,
        centre: Floats,
        width: Floats,
        classes: NDArray[Any],
        names: Sequence[str],
    ) -> None:
        self.network_, self.history_ = trained.network, {"train_loss": trained.train_loss}
        self.centre_, self.width_, self.classes_ = centre, width, classes
        self.n_features_in_ = len(centre)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _state(self) -> tuple[Arrays, Json]:
        arrays = {"centre": self.centre_, "width": self.width_} | {
            f"history.{name}": losses for name, losses in self.history_.items()
        }
        layers = zip(self.network_.weights, self.network_.biases, strict=True)
        for i, (weight, bias) in enumerate(layers):
            arrays |= {f"layer.{i}.weight": np.asarray(weight), f"layer.{i}.bias": np.asarray(bias)}
        metadata = {
            "classes": self.classes_.tolist(),
            "classes_type": self.classes_.dtype.str,
            "features": getattr(self, "feature_names_in_", np.array([])).tolist(),
            "activation": self.network_.activation,
        }
        if callable(self.penalty):
            name = getattr(self.penalty, "__qualname__", repr(self.penalty))
            metadata["parameters"] = self.get_params() | {"penalty": name}
        return arrays, metadata

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        from unsculpt.classifiers.network import Network
        from unsculpt.classifiers.training import Trained

        layers = sum(name.endswith(".weight") for name in arrays)
        weights, biases = (
            [arrays[f"layer.{i}.{part}"] for i in range(layers)] for part in ("weight", "bias")
        )
        network = Network.plain(weights, biases, metadata["activation"])
        self._learned(
            Trained(network, arrays["history.train_loss"]),
            arrays["centre"],
            arrays["width"],
            np.array(metadata["classes"], dtype=metadata["classes_type"]),
            metadata["features"],
        )


def fit_many(
    classifiers: Sequence[Classifier],
    X: Any,
    y: ArrayLike,
    *,
    protected: Any = None,
    sample_weight: ArrayLike | None = None,
) -> list[Classifier]:
    """Fit many classifiers on the same events, those that differ in alpha and seed in one program.

    Much faster than one by one, above all on a GPU. Classifiers of the same seed see the events in
    the same order. Each ends up as `fit` would leave it, but for rounding.

    Args:
        classifiers: the classifiers to fit; they are changed in place, and returned.
        X: as in `Classifier.fit`, like all others.
        y: labels.
        protected: protected attributes.
        sample_weight: event weights.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mass, y = rng.normal(size=1000), rng.integers(2, size=1000)
    >>> X = np.column_stack([mass + y, rng.normal(size=1000) + y])
    >>> dnns = [Classifier.disco(alpha, epochs=2, seed=s) for alpha in (10, 20) for s in (0, 1)]
    >>> len(fit_many(dnns, X, y, protected=mass))
    4
    """
    from unsculpt.progress import progress

    with progress("Loading JAX"):
        from unsculpt.classifiers.training import train

    sample = Sample.checked(X, y, protected, sample_weight)
    groups: dict[Recipe, list[Classifier]] = {}
    for classifier in classifiers:
        recipe = Recipe.from_parameters(classifier.get_params())
        if recipe.protects and sample.protected is None:
            raise ValueError(f"{classifier} has a penalty; pass what to protect as protected=")
        if recipe.heads == 2:
            _check_two_heads(classifier, sample)
        groups.setdefault(recipe, []).append(classifier)
    for recipe, group in groups.items():
        alphas, seeds = ([getattr(c, name) for c in group] for name in ("alpha", "seed"))
        for classifier, trained in zip(group, train(recipe, alphas, seeds, sample), strict=True):
            classifier._learned(trained, sample.centre, sample.width, sample.classes, sample.names)
    return list(classifiers)


def _check_two_heads(classifier: Classifier, sample: Sample) -> None:
    if sample.protected is not None:
        raise ValueError(
            f"{classifier} has two heads, which it keeps from knowing each other; leave protected "
            "out, and take what it protects out with a decorrelator on top"
        )
    if len(sample.classes) != 2:
        raise ValueError(
            f"{classifier} has two heads for one signal class, but y has {len(sample.classes)} "
            "classes; merge the signals"
        )
