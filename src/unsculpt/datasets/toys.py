"""Seeded toys whose conditional CDF on background is known in closed form.

Every toy is a normal latent variable whose mean and width move with the protected attributes,
seen through an increasing response. The exact answer of a decorrelator is then a normal CDF.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import helmert
from scipy.special import expit, logit, softmax
from scipy.stats import norm, truncexpon, truncnorm

from unsculpt.inputs import Floats

Moments = Callable[[Floats], tuple[Floats, Floats]]

MASS_RANGE = (50.0, 300.0)


@dataclass(frozen=True)
class Toy:
    """Events with a known answer.

    Attributes:
        score: the discriminant, (n,).
        protected: the protected attributes, (n,) or (n, 2).
        label: 1 for signal, 0 for background.
        cdf: the exact P(score <= s | protected) on background, a function of (s, protected).
    """

    score: Floats
    protected: Floats
    label: NDArray[np.int64]
    cdf: Callable[[ArrayLike, ArrayLike], Floats]

    @property
    def background(self) -> NDArray[np.bool_]:
        """Which events are background."""
        return np.asarray(self.label == 0)


@dataclass(frozen=True)
class ThreeClassToy:
    """Events with three probabilities whose response drifts, and what they are without it.

    Attributes:
        score: the probability of each class, (n, 3).
        protected: the mass, (n,).
        label: 0 for background, 1 and 2 for two signals.
        undrifted: the exact answer, probabilities as a function of (score, protected).
    """

    score: Floats
    protected: Floats
    label: NDArray[np.int64]
    undrifted: Callable[[ArrayLike, ArrayLike], Floats]

    @property
    def background(self) -> NDArray[np.bool_]:
        """Which events are background."""
        return np.asarray(self.label == 0)


def smooth(background: int = 10_000, signal: int = 1_000, *, seed: int = 0) -> Toy:
    """Draw an unbounded score whose mean and width drift gently with one attribute on [0, 1].

    Args:
        background: number of background events.
        signal: number of signal events.
        seed: seed of the random numbers.

    >>> toy = smooth(1000, 100, seed=1)
    >>> bool(abs(toy.cdf(toy.score, toy.protected)[toy.background].mean() - 0.5) < 0.05)
    True
    """
    rng = np.random.default_rng(seed)

    def moments(m: Floats) -> tuple[Floats, Floats]:
        return np.sin(3 * m), 0.5 + 0.5 * m

    m = np.concatenate([rng.uniform(size=background), rng.beta(8, 8, size=signal)])
    return _normal_toy(rng, m, background, moments, separation=1.5)


def tagger(background: int = 110_000, signal: int = 20_000, *, seed: int = 0) -> Toy:
    """Draw a score like a real W tagger's.

    It saturates at 0 and 1 and responds most near 80 GeV, on a background mass that falls from 50
    to 300 GeV; the signal mass peaks at 82 GeV.

    Args:
        background: number of background events.
        signal: number of signal events.
        seed: seed of the random numbers.

    >>> toy = tagger(1000, 100, seed=1)
    >>> toy.score.shape, toy.protected.shape, int(toy.background.sum())
    ((1100,), (1100,), 1000)
    """
    rng = np.random.default_rng(seed)
    m = _masses(rng, background, signal)
    return _normal_toy(rng, m, background, _tagger_moments, 1.3, response=(_saturate, _unsaturate))


def appendix_a(background: int = 10_000, signal: int = 10_000, *, seed: int = 0) -> Toy:
    """Draw the paper's appendix A: binary m, background N(0, 1) or N(-10, 1), signal 2 away.

    The signal lies above the background for m = 0 and below it for m = 1, so a map that flips
    m = 1 decorrelates as well as one that does not, and separates better.

    Args:
        background: number of background events.
        signal: number of signal events.
        seed: seed of the random numbers.

    >>> toy = appendix_a(1000, 1000, seed=1)
    >>> sorted(set(toy.protected.tolist()))
    [0.0, 1.0]
    """
    rng = np.random.default_rng(seed)
    label = _labels(background, signal)
    m = rng.integers(0, 2, size=label.size).astype(float)
    centre = np.where(label == 1, np.where(m == 0, 2.0, -12.0), -10.0 * m)
    score = rng.normal(centre, np.where(label == 1, 0.3, 1.0))
    return Toy(score, m, label, lambda s, m: norm.cdf(np.asarray(s) + 10 * np.asarray(m)))


def appendix_a_decorrelated(toy: Toy, *, mirrored: bool) -> tuple[Floats, Floats]:
    """Return an exact decorrelation of the score of `appendix_a`, and what it can separate.

    Both shift the background onto N(0, 1) for either m; one also mirrors it for m = 1, which brings
    the two halves of the signal together.

    Args:
        toy: what `appendix_a` returned.
        mirrored: whether to mirror the score for m = 1 as well.

    Returns:
        The decorrelated score, and the log of the likelihood ratio of signal and background there.

    >>> toy = appendix_a(1000, 1000, seed=1)
    >>> score, log_ratio = appendix_a_decorrelated(toy, mirrored=True)
    >>> bool(abs(score[toy.background].mean()) < 0.1)
    True
    """
    shifted = toy.score + 10 * toy.protected
    score = np.where(toy.protected == 1, -1, 1) * shifted if mirrored else shifted
    above, below = norm.logpdf(score, 2, 0.3), norm.logpdf(score, -2, 0.3)
    signal = above if mirrored else np.logaddexp(above, below) - np.log(2)
    return score, np.asarray(signal - norm.logpdf(score))


def two_attributes(background: int = 20_000, signal: int = 2_000, *, seed: int = 0) -> Toy:
    """Draw a score that depends on mass and transverse momentum together, through m / pT.

    Args:
        background: number of background events.
        signal: number of signal events.
        seed: seed of the random numbers.

    >>> two_attributes(1000, 100, seed=1).protected.shape
    (1100, 2)
    """
    rng = np.random.default_rng(seed)
    m = _masses(rng, background, signal)
    pt = rng.uniform(300, 600, size=m.size)

    def moments(protected: Floats) -> tuple[Floats, Floats]:
        rho = 2 * np.log(protected[..., 0] / protected[..., 1])
        return 1.5 * np.exp(-0.5 * ((rho + 3.2) / 0.6) ** 2), 1 + 0.1 * rho

    return _normal_toy(
        rng, np.column_stack([m, pt]), background, moments, 1.3, (_saturate, _unsaturate)
    )


def atoms(background: int = 20_000, signal: int = 2_000, *, leaves: int = 12, seed: int = 0) -> Toy:
    """Draw the tagger as a boosted tree with few leaves gives it: `leaves` distinct scores.

    Args:
        background: number of background events.
        signal: number of signal events.
        leaves: number of different scores.
        seed: seed of the random numbers.

    >>> len(set(atoms(1000, 100, leaves=5, seed=1).score.tolist()))
    5
    """
    rng = np.random.default_rng(seed)
    m = _masses(rng, background, signal)
    edges = np.linspace(-4, 4, leaves - 1)

    # A leaf's score is its position in [0, 1]; the CDF there includes the whole leaf.
    def leaf(z: Floats) -> Floats:
        return np.asarray(np.searchsorted(edges, z) / (leaves - 1))

    def upper_edge(score: Floats) -> Floats:
        index = np.floor(np.asarray(score) * (leaves - 1) + 1e-9).astype(int)
        upper: Floats = np.array([-np.inf, *edges, np.inf])[np.clip(index + 1, 0, leaves)]
        return upper

    return _normal_toy(rng, m, background, _tagger_moments, 1.3, response=(leaf, upper_edge))


def three_classes(
    background: int = 30_000, signal: int = 10_000, *, seed: int = 0
) -> ThreeClassToy:
    """Draw the probabilities of three classes, from a response that drifts with the mass.

    Without the drift the log-ratios of each class are a normal cloud in the plane, the three
    clouds at the corners of an equilateral triangle, so that the softmax is the exact posterior
    and any two classes have an AUC of 0.933. The response shifts the plane and stretches it along
    axes that turn with the mass, by symmetric positive definite matrices: undoing it is the
    optimal transport of the background, a Gaussian, to what it was. All classes have the same
    falling spectrum, so separation comes from the score alone.

    Args:
        background: number of events of class 0.
        signal: number of events of class 1, and of class 2.
        seed: seed of the random numbers.

    >>> toy = three_classes(1000, 100, seed=1)
    >>> toy.score.shape, bool(np.allclose(toy.score.sum(axis=1), 1))
    ((1200, 3), True)
    """
    rng = np.random.default_rng(seed)
    corners, width = helmert(3).T, 1.5
    label = np.repeat([0, 1, 2], [background, signal, signal])
    m = _masses(rng, len(label), 0)
    plane = width**2 * corners[label] + rng.normal(scale=width, size=(len(label), 2))
    shift, stretch = _drift(m)
    seen = shift + np.einsum("nij,nj->ni", stretch, plane)

    def undrifted(score: ArrayLike, protected: ArrayLike) -> Floats:
        shift, stretch = _drift(np.asarray(protected, dtype=float))
        away = np.log(np.asarray(score, dtype=float)) @ corners - shift
        return np.asarray(softmax(np.linalg.solve(stretch, away[..., None])[..., 0] @ corners.T, 1))

    return ThreeClassToy(softmax(seen @ corners.T, axis=1), m, label, undrifted)


def _drift(m: Floats) -> tuple[Floats, Floats]:
    """Return a shift of the plane near 85 GeV, and a stretch along axes that turn with the mass."""
    peak, slow = np.exp(-0.5 * ((m - 85) / 30) ** 2), (m - MASS_RANGE[0]) / 250
    shift = np.stack([1.5 * peak, 1.2 * slow - 0.3], axis=-1)
    angle = np.pi / 4 + 1.2 * slow
    along = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    projector = along[..., :, None] * along[..., None, :]
    narrow, wide = (x[..., None, None] for x in (0.55 + 0.3 * slow, 1 + 0.9 * peak))
    return shift, narrow * np.eye(2) + (wide - narrow) * projector


def _tagger_moments(m: Floats) -> tuple[Floats, Floats]:
    """Latent mean and width: a response peaking at 80 GeV on a slow fall with mass."""
    peak = np.exp(-0.5 * ((m - 80) / 25) ** 2)
    return 2.2 * peak - 1.6 - 0.008 * (m - 50), 1.1 + 0.4 * peak + 0.002 * (m - 50)


def _masses(rng: np.random.Generator, background: int, signal: int) -> Floats:
    low, high = MASS_RANGE
    scale, peak, width = 60.0, 82.0, 9.0
    falling = truncexpon.rvs(
        (high - low) / scale, loc=low, scale=scale, size=background, random_state=rng
    )
    peaking = truncnorm.rvs(
        (low - peak) / width,
        (high - peak) / width,
        loc=peak,
        scale=width,
        size=signal,
        random_state=rng,
    )
    return np.concatenate([falling, peaking])


def _labels(background: int, signal: int) -> NDArray[np.int64]:
    return np.repeat([0, 1], [background, signal])


def _saturate(z: Floats) -> Floats:
    return np.asarray(expit(2 * z))


def _unsaturate(score: Floats) -> Floats:
    return np.asarray(logit(score) / 2)


def _identity(z: Floats) -> Floats:
    return np.asarray(z, dtype=float)


def _normal_toy(
    rng: np.random.Generator,
    protected: Floats,
    background: int,
    moments: Moments,
    separation: float,
    response: tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]] = (
        _identity,
        _identity,
    ),
) -> Toy:
    """Signal sits `separation` widths above background at every value of the attributes."""
    forward, inverse = response
    label = _labels(background, len(protected) - background)
    mean, width = moments(protected)
    score = forward(rng.normal(mean + separation * width * label, width))

    def cdf(s: ArrayLike, protected: ArrayLike) -> Floats:
        mean, width = moments(np.asarray(protected, dtype=float))
        return np.asarray(norm.cdf((inverse(np.asarray(s, dtype=float)) - mean) / width))

    return Toy(score, protected, label, cdf)
