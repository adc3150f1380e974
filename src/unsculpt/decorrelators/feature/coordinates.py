"""The coordinates in which a flow of features works."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats

FEWEST_IN_CATEGORY = 20  # for a scale of its own
SMALLEST_WIDTH = 0.1


@dataclass(frozen=True)
class FeatureCoordinates:
    """Features with background at mean zero and variance one in each category; some mirrored.

    A flow cannot turn a feature around while it is trained: on the way the density would become
    infinite. So the direction is set before. Between categories that is a free choice, which the
    background alone cannot make; a map that is continuous along an attribute has none there.

    Attributes:
        mean: (categories, d) of the features.
        width: (categories, d), their standard deviations.
        signs: (categories, d), 1 or -1.
    """

    mean: Floats
    width: Floats
    signs: Floats

    @classmethod
    def measure(
        cls,
        columns: Floats,
        category: NDArray[np.intp],
        categories: int,
        signal: NDArray[np.bool_],
        weight: Floats,
    ) -> FeatureCoordinates:
        """Mirror so that signal lies above background in each category.

        Of all linear maps these are the ones with the greatest likelihood when the base has the
        signal above the background. Without signal nothing is mirrored.
        """
        everywhere = columns[~signal]
        mean = np.tile(everywhere.mean(axis=0), (categories, 1))
        width = np.tile(_widths(everywhere), (categories, 1))
        signs = np.ones_like(mean)
        for i in np.unique(category):
            here = category == i
            background = columns[here & ~signal]
            if len(background) >= FEWEST_IN_CATEGORY:
                mean[i], width[i] = background.mean(axis=0), _widths(background)
            w, c, x = weight[here], signal[here], columns[here] - mean[i]
            # The covariance of class and feature, times the squared sum of weights.
            above = w.sum() * (w * c) @ x - (w @ c) * (w @ x)
            signs[i] = np.where(above < 0, -1, 1)
        return cls(mean, width, signs)

    def __call__(self, columns: Floats, category: NDArray[np.intp]) -> Floats:
        """Return the coordinates of features."""
        return self.signs[category] * (columns - self.mean[category]) / self.width[category]

    def inverse(self, coordinates: Floats, category: NDArray[np.intp]) -> Floats:
        """Return the features at these coordinates."""
        return self.signs[category] * coordinates * self.width[category] + self.mean[category]

    def log_volume(self, category: NDArray[np.intp]) -> Floats:
        """Return the log of the volume of the coordinates over that of the features."""
        return np.asarray(-np.log(self.width).sum(axis=1)[category])


def base_of(coordinates: Floats, which: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return mean and log width of each class but the first: where a base by class starts."""
    others = [coordinates[which == c] for c in range(1, which.max() + 1)]
    shape = (-1, coordinates.shape[1])
    means = np.array([other.mean(axis=0) for other in others]).reshape(shape)
    widths = np.array([other.std(axis=0) for other in others]).reshape(shape)
    return means, np.log(np.maximum(widths, SMALLEST_WIDTH))


def _widths(columns: Floats) -> Floats:
    """Return standard deviations, one for a column that is constant here."""
    widths = columns.std(axis=0)
    return np.where(widths > 0, widths, 1.0)
