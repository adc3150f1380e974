"""Decorrelation of scores of several components with a map that keeps their order."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import Decorrelator, shaped
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.outside import Outside
from unsculpt.decorrelators.common.training import check_training, summary_of, training_of
from unsculpt.decorrelators.transport.coordinates import (
    Base,
    VectorCoordinates,
    draw,
    from_normal,
    log_density,
    log_ratios,
    on_simplex,
    probabilities,
    simplex_graph,
    to_normal,
)
from unsculpt.graph import Graph, Value
from unsculpt.inputs import Floats, Mask, is_one_column
from unsculpt.saving import Arrays, Json

if TYPE_CHECKING:
    from unsculpt.decorrelators.transport.map import TransportMap

Loss = Literal["likelihood", "transport"]


class TransportDecorrelator(Decorrelator):
    """Replace a score of several components by its vector quantile, given the attributes.

    Fit it on background. At every value of the protected attributes the score is moved by the
    gradient of a convex function to the same distribution. In one dimension that is any increasing
    map; in several it is what keeps the order: a move from one score to another and the move of
    their images never point in opposite directions, and nothing is rotated (Carlier,
    Chernozhukov and Galichon, arXiv:1406.4643). The function is a partially input-convex network
    fitted by maximum likelihood (Huang et al., arXiv:2012.05942), or by optimal transport (Algren,
    Raine and Golling, arXiv:2307.05187).

    Rows that sum to one are taken as probabilities of classes: they are moved in the plane of
    their log-ratios and come back as probabilities.

    Args:
        base: what the background becomes. "normal" is a standard normal; of probabilities, one in
            the log-ratios with the centre and the width of the background. "source" is the
            background's own distribution at all values of the attributes together. "simplex" is
            uniform on all probabilities that sum to one: the Dirichlet distribution of ones.
            "ball" and "cube" are uniform on the unit ball and on [0, 1] in each component; not for
            probabilities.
        loss: "likelihood", by which the source is reached through the normal, in two steps; or
            "transport", the dual of optimal transport, in one: the order is kept all the way to
            the source, but more sculpting is left and there is no density. Not for "ball" and
            "cube".
        members: potentials in the ensemble; their mean is the answer.
        epochs: passes over the events; None for 20, or 80 by transport, and fewer for more than
            200,000 events.
        batch_size: events a step; None for a hundredth of the events, from 64 to 4096.
        learning_rate: Adam's, annealed to zero by a cosine; None for 1e-2, or 3e-2 by transport.
        outside: what becomes of protected values beyond the fitted range: the nearest fitted value
            stands in ("clip", with a warning), an error ("raise"), or NaN ("nan", with a warning).
        categorical: protected columns to treat as categories, by name or position.
        seed: fixes everything random.

    Attributes:
        history_: `train_loss`, (epochs, members).
        training_: what the model file says about the fit: events, weights, epochs, final loss.

    >>> import numpy as np
    >>> from unsculpt.datasets import toys
    >>> toy = toys.three_classes(2000, 200, seed=1)
    >>> b = toy.background
    >>> transport = TransportDecorrelator(members=1, epochs=5).fit(toy.score[b], toy.protected[b])
    >>> flat = transport.transform(toy.score, toy.protected)
    >>> bool(np.allclose(flat.sum(axis=1), 1))
    True
    """

    coordinates_: VectorCoordinates
    map_: TransportMap
    inclusive_: TransportMap | None
    base_: Base
    history_: dict[str, Floats]
    training_: Json

    def __init__(
        self,
        *,
        base: Base = "normal",
        loss: Loss = "likelihood",
        members: int = 4,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        outside: Outside = "clip",
        categorical: Sequence[str | int] = (),
        seed: int = 0,
    ) -> None:
        self.base = base
        self.loss = loss
        self.members = members
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.outside = outside
        self.categorical = categorical
        self.seed = seed

    def fit(
        self, scores: ArrayLike, protected: Any, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the scores' distribution given the attributes from background events.

        Args:
            scores: (n, d), or (n,) for one.
            protected: (n,) or (n, a) numbers, or a table with named columns.
            sample_weight: (n,), negative weights included.
        """
        from unsculpt.progress import progress

        with progress("Loading JAX"):
            from unsculpt.decorrelators.transport.map import TransportMap

        check_training(self)
        for name, known in (("base", get_args(Base)), ("loss", get_args(Loss))):
            if getattr(self, name) not in known:
                found = getattr(self, name)
                raise ValueError(f"{name} is {found!r}; expected one of {', '.join(known)}")
        by_transport = self.loss == "transport"
        if by_transport and self.base in ("ball", "cube"):
            raise ValueError(
                f"loss='transport' cannot promise to stay inside base={self.base!r}; choose "
                "base='normal' or 'source', or loss='likelihood'"
            )
        columns, protected, weight = self._check_fit(scores, protected, sample_weight)
        coordinates = VectorCoordinates.measure(columns)
        if coordinates.simplex and self.base in ("ball", "cube"):
            raise ValueError(
                f"scores sums to one in every event, so it comes back as probabilities, which "
                f"base={self.base!r} has not; choose 'normal', 'source' or 'simplex', or pass "
                "log-ratios"
            )
        if self.base == "simplex" and not coordinates.simplex:
            raise ValueError(
                "base='simplex' is for probabilities, and scores has rows that do not sum to one; "
                "choose another base"
            )
        if columns.shape[1] == 1:
            warnings.warn(
                "scores has one component, which FlowDecorrelator and SplineDecorrelator make far "
                "flatter; TransportDecorrelator is for several",
                stacklevel=2,
            )
        attributes = ProtectedAttributes.learn(protected, weight, self.categorical)
        features, _ = attributes.features(protected, "raise")
        vectors = coordinates(columns)
        epochs, learning_rate = (80, 3e-2) if by_transport else (20, 1e-2)
        training = training_of(self, len(vectors), epochs) | {"members": int(self.members)}
        training["learning_rate"] = self.learning_rate or learning_rate
        target, inclusive = None, None
        if by_transport:
            drawn = draw(len(vectors), vectors.shape[1], self.base, self.seed)
            target = vectors if self.base == "source" else drawn
        elif self.base == "source":
            # The way back from the normal is the same without attributes.
            inclusive = TransportMap.learn(vectors, np.zeros_like(features), weight, **training)
        learned = TransportMap.learn(
            vectors,
            features,
            weight,
            target=target,
            simplex=self.base == "simplex",
            **training,
        )
        self._keep(
            attributes_=attributes,
            coordinates_=coordinates,
            map_=learned,
            inclusive_=inclusive,
            base_=self.base,
            history_={"train_loss": learned.train_loss},
            training_=summary_of(learned.train_loss, weight),
            one_column_=is_one_column(scores),
        )
        return self

    def transform(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the scores moved to the base, with as many components as they had.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        columns, features, marked = self._check(scores, protected)
        plane, _ = self.map_.forward(self.coordinates_(columns), features)
        return shaped(self._to_base(plane, features), marked, scores)

    def inverse_transform(self, moved: ArrayLike, protected: Any) -> Floats:
        """Return the scores whose `transform` is `moved`.

        Args:
            moved: what `transform` returned.
            protected: the attributes of the same events, as in the fit.
        """
        columns, features, marked = self._check(moved, protected, "moved")
        x = self.map_.inverse(self._from_base(columns, features), features)
        return shaped(self.coordinates_.inverse(x), marked, moved)

    def log_prob(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the log density of the scores given the attributes, one for each event.

        Of probabilities, the density of all but the last.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        columns, features, marked = self._check(scores, protected)
        self._check_density()
        plane, log_volume = self.map_.forward(self.coordinates_(columns), features)
        log_volume = log_volume + self.coordinates_.log_volume(columns)
        return np.where(marked, np.nan, log_density(plane, self.base_) + log_volume)

    def sample(self, protected: Any, *, seed: int = 0) -> Floats:
        """Draw background scores at each value of the attributes.

        Args:
            protected: the attributes to draw at, as in the fit.
            seed: seed of the draws.
        """
        check_is_fitted(self)
        self._check_density()
        features, marked = self.attributes_.features(protected, self.outside)
        plane = draw(len(features), len(self.coordinates_.centre), self.base_, seed)
        scores = self.coordinates_.inverse(self.map_.inverse(plane, features))
        return shaped(scores, marked, scores[:, 0] if self.one_column_ else scores)

    def _to_base(self, plane: Floats, features: Floats) -> Floats:
        """Return the scores that belong to where the map ends."""
        if self.base_ in ("ball", "cube"):
            return from_normal(plane, self.base_)
        if self.base_ == "simplex":
            return probabilities(plane)
        if self.inclusive_ is not None:
            plane = self.inclusive_.inverse(plane, np.zeros_like(features))
        return self.coordinates_.inverse(plane) if self._in_units_of_scores else plane

    def _from_base(self, moved: Floats, features: Floats) -> Floats:
        """Undo `_to_base`."""
        if self.base_ in ("ball", "cube"):
            return to_normal(moved, self.base_)
        if self.base_ == "simplex":
            return log_ratios(moved)
        plane = self.coordinates_(moved) if self._in_units_of_scores else moved
        if self.inclusive_ is not None:
            plane, _ = self.inclusive_.forward(plane, np.zeros_like(features))
        return plane

    def _check_density(self) -> None:
        if self.base_ == "source" and self.inclusive_ is None:
            raise ValueError(
                "the density of the scores is not known after a fit with loss='transport' and "
                "base='source'; fit with loss='likelihood'"
            )

    @property
    def _in_units_of_scores(self) -> bool:
        return self.base_ == "source" or self.coordinates_.simplex

    @property
    def n_scores_(self) -> int:
        """How many components the fit had."""
        return len(self.coordinates_.centre) + self.coordinates_.simplex

    def _check(
        self, values: ArrayLike, protected: Any, name: str = "scores"
    ) -> tuple[Floats, Floats, Mask]:
        columns, features, marked = super()._check(values, protected, name)
        if self.coordinates_.simplex and not on_simplex(columns):
            raise ValueError(
                f"{name} has rows that do not sum to one; the fit had probabilities, so pass those"
            )
        return columns, features, marked

    def _graph(self, graph: Graph, scores: list[Value], protected: list[Value]) -> list[Value]:
        from unsculpt.decorrelators.transport import graph as steps

        features, mark = self.attributes_.graph(graph, protected, self.outside)
        marks = [] if mark is None else [mark]
        if self.coordinates_.simplex:
            scores, off = simplex_graph(graph, scores)
            marks.append(off)
        plane = steps.PotentialGraph(graph, self.map_.potentials, features).forward(
            steps.vectors_graph(graph, self.coordinates_, scores)
        )
        base, d = self.base_, len(self.coordinates_.centre)
        if base in ("ball", "cube"):
            plane = steps.even_graph(graph, plane, d, base)
        elif self.inclusive_ is not None:
            nothing = graph.constant(np.zeros((1, self.attributes_.width)))
            plane = steps.PotentialGraph(graph, self.inclusive_.potentials, nothing).inverse(plane)
        if base != "simplex" and self._in_units_of_scores:
            plane = plane * self.coordinates_.scale + self.coordinates_.centre
        if self.coordinates_.simplex:
            plane = steps.probabilities_graph(graph, plane, d)
        columns = [graph.add("Gather", plane, np.array([i]), axis=1) for i in range(len(scores))]
        return [sum(marks, start=column) for column in columns]

    def _state(self) -> tuple[Arrays, Json]:
        arrays, protected = self.attributes_.state()
        arrays |= {"centre": self.coordinates_.centre, "scale": self.coordinates_.scale}
        arrays |= self.map_.state("map")
        if self.inclusive_ is not None:
            arrays |= self.inclusive_.state("inclusive")
        return arrays, {
            "protected": protected,
            "simplex": self.coordinates_.simplex,
            "base": self.base_,
            "one_column": self.one_column_,
            "training": self.training_,
        }

    def _restore(self, arrays: Arrays, metadata: Json) -> None:
        from unsculpt.decorrelators.transport.map import TransportMap

        self.attributes_ = ProtectedAttributes.restore(arrays, metadata["protected"])
        self.coordinates_ = VectorCoordinates(
            arrays["centre"], arrays["scale"], metadata["simplex"]
        )
        self.base_, width = metadata["base"], self.attributes_.width
        self.map_ = TransportMap.restore(arrays, "map", width)
        two_steps = "inclusive.train_loss" in arrays
        self.inclusive_ = TransportMap.restore(arrays, "inclusive", width) if two_steps else None
        self.history_ = {"train_loss": self.map_.train_loss}
        self.one_column_, self.training_ = metadata["one_column"], metadata["training"]
