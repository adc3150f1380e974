"""What rough functions of the attributes cost, with strengths that the data choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unsculpt.decorrelators.spline.axes import Term
from unsculpt.inputs import Floats

# Against drift where the penalties leave a function free and hardly any event holds it.
RIDGE, SMALLEST, NOTHING = 1e-3, 1e-12, 1e-200
WEAKEST, STRONGEST = 1e-6, 1e8
LARGEST_CHANGE = 1e3


@dataclass
class Penalties:
    """What the coefficients of each function of the score cost, and how strongly.

    Where along the attributes the score changes fast is the same for all functions of the score:
    they share how strong the penalties of a term are beside one another, and each has a factor of
    its own. So there are few strengths to choose, and little to choose wrongly.

    Attributes:
        slices: the coefficients that each matrix is for.
        matrices: of each term, one for each strength.
        alone: which matrices have a strength for each function of the score: the last of a term.
        strengths: (functions of the score, matrices).
        score: what each function of the score costs; its strength is the same for all.
        score_strength: that strength.
        functions: how many coefficients there are for a function of the score.
    """

    slices: list[slice]
    matrices: list[Floats]
    alone: list[bool]
    strengths: Floats
    score: Floats
    score_strength: float
    functions: int

    @classmethod
    def start(cls, terms: Sequence[Term], directions: int, score: Floats | None) -> Penalties:
        """Start with strengths of one."""
        slices, matrices, alone, first = [], [], [], 0
        for term in terms:
            count = len(term.penalties)
            slices += [slice(first, first + term.size)] * count
            matrices += term.penalties
            alone += [False] * (count - 1) + [True] * min(count, 1)
            first += term.size
        strengths = np.ones((directions, len(matrices)))
        score = np.zeros(directions) if score is None else score
        return cls(slices, matrices, alone, strengths, score, 1.0, first)

    def prior(self, stiffness: float = 1.0) -> Floats:
        """Return the information that the penalties are worth, (directions, k, k).

        `stiffness` is a factor on the strengths that functions of the score share.
        """
        prior = np.zeros((len(self.strengths), self.functions, self.functions))
        for i, (where, matrix) in enumerate(zip(self.slices, self.matrices, strict=True)):
            factor = 1.0 if self.alone[i] else stiffness
            prior[:, where, where] += factor * self.strengths[:, i, None, None] * matrix
        everywhere = RIDGE + self.score_strength * self.score
        return prior + everywhere[:, None, None] * np.eye(self.functions)

    def update(self, theta: Floats, gained: Floats) -> None:
        """Set the strengths by what was gained over the prior and by the size of coefficients.

        The update of Fellner and Schall for overlapping penalties (Wood and Fasiolo, 2017): a
        strength, or a factor that several have in common, changes by the ratio of the two.
        Functions of the score that cost something share all their strengths.
        """
        gain, size = self._gain(gained), np.empty(self.strengths.shape)
        for i, (where, matrix) in enumerate(zip(self.slices, self.matrices, strict=True)):
            own = theta[:, where]
            size[:, i] = np.einsum("jk,kl,jl->j", own, matrix, own)
        size *= self.strengths
        costly = self.score > 0
        size[costly] = size[costly].sum(axis=0)
        alone, change = np.array(self.alone, dtype=bool), np.ones_like(gain)
        change[:, alone] = _ratio(gain[:, alone], size[:, alone])
        for together in self._together():
            gains, sizes = gain[:, together], size[:, together]
            of_function = _ratio(gains.sum(axis=1), sizes.sum(axis=1))[:, None]
            of_matrix = _ratio(gains.sum(axis=0), (sizes * of_function).sum(axis=0))
            change[:, together] = of_function * of_matrix
        self.strengths = np.clip(self.strengths * change, WEAKEST, STRONGEST)
        if costly.any():
            gain, size = np.trace(gained, axis1=1, axis2=2), (theta**2).sum(axis=1)
            change = _ratio(self.score @ gain, self.score @ size)
            self.score_strength = float(np.clip(self.score_strength * change, WEAKEST, STRONGEST))

    def loosen(self, gained: Floats) -> None:
        """Weaken the strengths by what they may be wrong.

        A strength is one over the variance of the coefficients that it holds, and is known from as
        many of them as the data set free, in effect: its gain. So that variance is larger than it
        seems by one part in so many. Where data are few, as at the end of a spectrum, a strength
        is known from hardly one.
        """
        gain, alone = self._gain(gained), np.array(self.alone, dtype=bool)
        known = np.ones_like(gain)
        known[:, alone] = _known(gain[:, alone])
        for together in self._together():
            gains = gain[:, together]
            of_function, of_matrix = (gains.sum(axis=i, keepdims=True) for i in (1, 0))
            known[:, together] = _known(of_function) * _known(of_matrix)
        self.strengths = np.maximum(self.strengths * known, WEAKEST)
        if (self.score > 0).any():
            gain = self.score @ np.trace(gained, axis1=1, axis2=2) * self.score_strength
            self.score_strength = max(self.score_strength * float(_known(gain)), WEAKEST)

    def _gain(self, gained: Floats) -> Floats:
        """Return how many coefficients each strength leaves free, (functions, matrices)."""
        gain = np.empty(self.strengths.shape)
        for i, (where, matrix) in enumerate(zip(self.slices, self.matrices, strict=True)):
            gain[:, i] = (gained[:, where, where] * matrix).sum(axis=(1, 2))
        gain *= self.strengths
        costly = self.score > 0
        gain[costly] = gain[costly].sum(axis=0)
        return gain

    def _together(self) -> list[NDArray[np.bool_]]:
        """Return the matrices of each term that share factors for the functions of the score."""
        starts = np.array([where.start for where in self.slices])
        return [~np.array(self.alone, dtype=bool) & (starts == first) for first in set(starts)]


def _known(gain: Any) -> Any:
    gain = np.maximum(gain, SMALLEST)
    return gain / (gain + 1)


def _ratio(gain: Floats, size: Floats) -> Floats:
    ratio = np.maximum(gain, SMALLEST) / np.maximum(size, NOTHING)
    return np.asarray(np.clip(ratio, 1 / LARGEST_CHANGE, LARGEST_CHANGE))
