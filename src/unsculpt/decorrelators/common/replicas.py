"""The statistical error of networks, from replicas that were trained on resampled events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unsculpt.decorrelators.base import ConditionalCDF, ScoreDecorrelator
from unsculpt.decorrelators.common.misfit import SPLINE
from unsculpt.decorrelators.common.variations import principal
from unsculpt.inputs import Floats
from unsculpt.saving import Arrays

Counts = NDArray[np.uint8]

# Where the replicas are compared: values of the attribute and levels of the new score.
PLACES, LEVELS = 65, 33


class NetworkCDF(ConditionalCDF, Protocol):
    """A conditional CDF that is a mean of networks; a dataclass."""

    @property
    def parameters(self) -> list[NDArray[Any]]:
        """Those of the networks, stacked on the leading axis of every array."""

    @property
    def table_values(self) -> Floats | None:
        """What the networks say at the nodes of one attribute, if that is known already."""

    def moved(self, others: Sequence[Self], by: Floats) -> Self:
        """Return it moved towards each of the others, by so much of the way; one attribute."""


C = TypeVar("C", bound=NetworkCDF)


class ReplicaDecorrelator(ScoreDecorrelator[C]):
    """Replaces every score by its conditional CDF, and may know how wrong that is.

    Attributes:
        replicas_: for each score, what networks have learned from resampled events; none without.
        share_: in a model made by `variations`, the part of the variance that its direction holds.
    """

    replicas: int
    replicas_: list[list[C]]
    share_: float | None = None

    def uncertainty(self, scores: ArrayLike, protected: Any) -> Floats:
        """Return the standard deviation of the conditional CDF from the finite sample of the fit.

        It is how far the replicas are from the map. Each is one network, so the randomness of its
        training is in it too. It knows nothing of a structure that networks are too smooth for.

        Args:
            scores: as in the fit.
            protected: the attributes of the same events, as in the fit.
        """
        self._check_replicas()

        def deviation(cdf: C, replicas: list[C]) -> Callable[[Floats, Floats], Floats]:
            return lambda *events: np.sqrt((_moves(cdf, replicas, *events) ** 2).sum(axis=0))

        functions = [deviation(*pair) for pair in zip(self.cdfs_, self.replicas_, strict=True)]
        return self._each(functions, scores, protected)

    def variations(self, n: int) -> list[tuple[Self, Self]]:
        """Return the map moved up and down by one standard deviation, along n directions.

        They are the principal directions in which the replicas are off, so there are no more than
        replicas. `share_` of a variation says which part of the variance its direction holds. With
        several scores a direction moves one. One continuous attribute.

        Args:
            n: how many pairs.
        """
        self._check_replicas()
        if not self.attributes_.one_axis:
            raise ValueError(
                f"the model protects {self.attributes_.names}; variations of networks are for one "
                f"continuous attribute, {SPLINE} has them for two of any kind"
            )
        pairs = []
        moves = [self._stabilised(*pair) for pair in zip(self.cdfs_, self.replicas_, strict=True)]
        for i, (shares, normals) in enumerate(principal(moves, n)):
            for share, along in zip(shares, normals, strict=True):
                by = along / np.sqrt(len(along))
                pairs.append((self._moved(i, share, by), self._moved(i, share, -by)))
        return sorted(pairs, key=lambda pair: -(pair[0].share_ or 0))[:n]

    def _trained_replicas(
        self,
        cdfs: Sequence[C],
        train: Callable[..., Any],
        events: tuple[Any, ...],
        how: dict[str, Any],
    ) -> list[list[C]]:
        """Return what networks learn from resampled events, for each score; nothing if not asked.

        `train(*events, **how)` trained those of the map.
        """
        if not self.replicas:
            return []
        from unsculpt.fitting.parameters import parameters_of

        counts = resampled(len(how["weight"]), self.replicas, self.seed)
        others = train(*events, members=self.replicas, counts=counts, **how)
        return replicas_of(cdfs, parameters_of(others.model))

    def _check_replicas(self) -> None:
        check_is_fitted(self)
        if not self.replicas_:
            raise ValueError(
                "the fit had no replicas, from which the statistical error of a network comes; fit "
                f"with replicas=20, which takes several times as long, or take {SPLINE}"
            )

    def _stabilised(self, cdf: C, replicas: list[C]) -> Floats:
        """Return how each replica moves arcsin √F at places that count alike, (places, replicas).

        A place counts by its events; at equal steps of arcsin √F an event is worth the same.
        """
        inclusive = self.attributes_.attributes[0].cdf  # type: ignore[union-attr]
        values = inclusive.inverse((np.arange(PLACES) + 0.5) / PLACES)
        features, _ = self.attributes_.features(values, None)
        features = np.repeat(features, LEVELS, axis=0)
        level = np.tile(np.sin(np.pi / 2 * (np.arange(LEVELS) + 0.5) / LEVELS) ** 2, PLACES)
        moves = _moves(cdf, replicas, cdf.inverse(level, features), features)
        return np.asarray((moves / np.sqrt(level * (1 - level))).T)

    def _moved(self, score: int, share: float, by: Floats) -> Self:
        """Return it with the map of a score moved."""
        other = copy(self)
        other.cdfs_ = list(self.cdfs_)
        other.cdfs_[score] = self.cdfs_[score].moved(self.replicas_[score], by)
        other.replicas_, other.share_ = [], float(share)
        return other

    def _replica_arrays(self) -> Arrays:
        parameters = (replica.parameters for own in self.replicas_ for replica in own)
        stacked = map(np.concatenate, zip(*parameters, strict=True))
        return {f"replicas.{j}": array for j, array in enumerate(stacked)}


def resampled(events: int, replicas: int, seed: int) -> Counts:
    """Return how often each replica sees each event, (events, replicas).

    A Poisson number of mean one, by which samples differ from each other; an event keeps its
    weight and its sign.
    """
    random = np.random.default_rng([seed, 2])  # not the engine's stream
    return np.column_stack([random.poisson(1, events).astype("u1") for _ in range(replicas)])


def replicas_of(cdfs: Sequence[C], parameters: Sequence[NDArray[Any]]) -> list[list[C]]:
    """Return for each score the maps that single networks make; none without parameters."""
    if not parameters:
        return []
    n = len(parameters[0]) // len(cdfs)

    def replica(cdf: Any, i: int) -> Any:
        return replace(
            cdf, parameters=[array[i : i + 1] for array in parameters], table_values=None
        )

    return [[replica(cdf, i * n + j) for j in range(n)] for i, cdf in enumerate(cdfs)]


def numbered(arrays: Arrays, name: str) -> list[NDArray[Any]]:
    """Return the arrays called name.0, name.1, and so on."""
    return [arrays[f"{name}.{j}"] for j in range(sum(key.startswith(f"{name}.") for key in arrays))]


def _moves(cdf: C, replicas: Sequence[C], score: Floats, features: Floats) -> Floats:
    """Return moves of the CDF whose squares sum to its variance, (replicas, n)."""
    nominal = cdf.cdf(score, features)
    apart = [replica.cdf(score, features) - nominal for replica in replicas]
    return np.asarray(np.stack(apart) / np.sqrt(len(apart)))
