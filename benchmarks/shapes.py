"""A family of random shapes with exact truth: a spectrum, a response, a spread and a noise each.

Which estimator is best is measured on these (benchmarks/estimators.py), not on one toy. A seed is
a shape: seeds below 1,000 are for choosing recipes, others for quoting them, once.

The truth is exact, so what a cut keeps at any value of the attributes is known without events:
`sculpting` is the excess of an estimate at infinite test statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit, logit

LOW, HIGH, BINS = 50.0, 300.0, 50
TEST_EVENTS = 770_000
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Shape:
    """score = output(response(attributes) + spread(attributes) * noise).

    Attributes:
        name: what it is made of.
        attributes: from uniform numbers, (n, k), to attributes, (n, k); the first is the mass.
        response, spread: functions of the attributes.
        noise: a distribution of scipy, or two populations whose shares depend on the mass.
        output: an increasing function; where it is constant the score has an atom.
        latent: the largest latent score with a smaller or equal output.
    """

    name: str
    attributes: Function
    response: Function
    spread: Function
    noise: Noise
    output: Function
    latent: Function

    def sample(self, events: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and attributes, (n,) and (n, k)."""
        random = np.random.default_rng(seed)
        attributes = self.attributes(random.random((events, 2)))
        noise = self.noise.draw(random.random(events), attributes)
        return self.output(self.response(attributes) + self.spread(attributes) * noise), attributes

    def cdf(self, scores: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """Return P(score <= s | attributes), exactly."""
        pull = (self.latent(scores) - self.response(attributes)) / self.spread(attributes)
        return self.noise.cdf(pull, attributes)


@dataclass(frozen=True)
class Noise:
    """One distribution, or two with a share that varies along the mass."""

    first: stats.rv_continuous
    second: stats.rv_continuous | None = None
    share: Function | None = None

    def cdf(self, x: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        if self.second is None:
            return self.first.cdf(x)
        share = self.share(attributes)
        return (1 - share) * self.first.cdf(x) + share * self.second.cdf(x)

    def quantile_at(self, level: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        """Return where the CDF has a level."""
        if self.second is None:
            return self.first.ppf(level)
        low = np.minimum(self.first.ppf(level), self.second.ppf(level))
        high = np.maximum(self.first.ppf(level), self.second.ppf(level))
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(middle, attributes) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def draw(self, uniform: np.ndarray, attributes: np.ndarray) -> np.ndarray:
        if self.second is None:
            return self.first.ppf(uniform)
        share = self.share(attributes)
        of_second = uniform < share
        # What is left of the uniform number is uniform again.
        inside = np.where(of_second, uniform / share, (uniform - share) / (1 - share))
        return np.where(of_second, self.second.ppf(inside), self.first.ppf(inside))


def shape(seed: int, attributes: int = 1, where: tuple[float, float] = (0.05, 0.95)) -> Shape:
    """Return the shape of a seed, of one attribute or of two correlated ones.

    `where`: between which quantiles of one attribute bumps and steps lie.
    """
    random = np.random.default_rng([20, attributes, seed])
    spectrum, draw = _spectrum(random)
    centres, ends = draw(np.linspace(*where, 19)), draw(np.array([0.05, 0.95]))
    if attributes == 1:
        place, values = draw, _of_first(draw)
    else:
        spectrum, (place, values, centres) = "mass and pT", _mass_and_momentum(random)
        ends = centres[[0, -1]]
    pieces = [_piece(random, centres, ends) for _ in range(random.integers(1, 3))]
    size = [random.choice([-1, 1]) * random.uniform(0.4, 1.5) for _ in pieces]
    stretch_name, stretch = _piece(random, centres, ends)
    if attributes == 2:
        places = place(np.linspace(0.05, 0.95, 19))
        second_name, second = _piece(random, places, places[[0, -1]], in_momentum=True)
        pieces.append((second_name, second))
        size.append(random.uniform(-0.8, 0.8))
    log_stretch = random.uniform(-0.5, 0.5)
    noise_name, noise = _noise(random, centres, ends)

    def response(x: np.ndarray) -> np.ndarray:
        return sum(a * f(x) for a, (_, f) in zip(size, pieces, strict=True))

    def spread(x: np.ndarray) -> np.ndarray:
        return np.exp(log_stretch * stretch(x))

    probe = values(np.random.default_rng(0).random((20_000, 2)))
    latent = response(probe) + spread(probe) * noise.draw(
        np.random.default_rng(1).random(20_000), probe
    )
    output_name, output, inverse = _output(random, latent)
    response_name = " + ".join(name for name, _ in pieces)
    name = f"{spectrum}; {response_name}; spread {stretch_name}; {noise_name}; {output_name}"
    return Shape(name, values, response, spread, noise, output, inverse)


def simple(seed: int, attributes: int = 1, moved: Sequence[float] = (0, 0, 0, 0, 0)) -> Shape:
    """Return a shape with one response, a bump 14 to 50 GeV wide or a step, and one noise.

    With two attributes, mass and pT, there is a slope in pT besides. `moved` is added to the place,
    width and height of the response, and to the place and the logarithm of the spread of the noise.
    """
    random = np.random.default_rng([77, seed] if attributes == 1 else [77, attributes, seed])
    if attributes == 1:
        spectrum, draw = _spectrum(random)
        values, centres = _of_first(draw), draw(np.linspace(0.05, 0.95, 19))
    else:
        spectrum, (place, values, centres) = "mass and pT", _mass_and_momentum(random)
        first, last = place(np.array([0.05, 0.95]))
    centre = random.choice(centres) + moved[0]
    if seed % 3 == 1:
        width = random.uniform(5, 15) + moved[1]
        name, curve = f"step at {centre:.0f}", lambda x: np.tanh((x[:, 0] - centre) / width)
    else:
        width = np.exp(random.uniform(np.log(14), np.log(50))) + moved[1]
        name = f"bump {width:.0f} wide at {centre:.0f}"

        def curve(x: np.ndarray) -> np.ndarray:
            return np.exp(-(((x[:, 0] - centre) / (width / 2)) ** 2) / 2)

    size = random.uniform(0.8, 2.2) + moved[2]
    slope = random.uniform(-0.8, 0.8) if attributes == 2 else 0.0

    def response(x: np.ndarray) -> np.ndarray:
        bump = size * curve(x) + moved[3]
        return bump if attributes == 1 else bump + slope * (x[:, 1] - first) / (last - first)

    noises = [
        stats.norm(),
        stats.logistic(scale=0.55),
        stats.gumbel_r(),
        stats.gumbel_l(),
        stats.t(3.5),
        stats.gamma(2.5, -2.5),
    ]
    noise = noises[seed % len(noises)]
    return Shape(
        f"{spectrum}; {name}, {size:.1f} high; {noise.dist.name}",
        values,
        response,
        lambda x: np.full(len(x), np.exp(moved[4])),
        Noise(noise),
        expit,
        logit,
    )


def _spectrum(random: np.random.Generator) -> tuple[str, Function]:
    """Return a spectrum of masses as the map from a uniform number."""
    kind = random.choice(["exponential", "gamma", "uniform", "Pareto", "edge"])
    if kind == "uniform":
        return kind, lambda u: LOW + (HIGH - LOW) * u
    if kind == "edge":  # a trigger that turns on late
        scale, edge, kept = (
            random.uniform(25, 70),
            random.uniform(60, 120),
            random.uniform(0.05, 0.5),
        )
        mass = np.linspace(LOW, HIGH, 100_001)
        density = np.exp(-mass / scale) * (
            kept + (1 - kept) * expit((mass - edge) / random.uniform(1, 4))
        )
        cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        cumulative /= cumulative[-1]
        return f"edge at {edge:.0f}", lambda u: np.interp(u, cumulative, mass)
    spectrum = {
        "exponential": stats.expon(LOW, random.uniform(20, 80)),
        "gamma": stats.gamma(random.uniform(1.5, 4), LOW - 5, random.uniform(12, 40)),
        "Pareto": stats.pareto(random.uniform(2, 6), 0, LOW),
    }[kind]
    first, last = spectrum.cdf([LOW, HIGH])
    return kind, lambda u: np.clip(spectrum.ppf(first + (last - first) * u), LOW, HIGH)


def _of_first(draw: Function) -> Function:
    """Return masses as the map from uniform numbers, (n, 2): the first makes them."""
    return lambda uniform: draw(uniform[:, 0])[:, None]


def _mass_and_momentum(random: np.random.Generator) -> tuple[Function, Function, np.ndarray]:
    """Return pT from a uniform number, both attributes from two, and places along the mass."""
    momentum = stats.pareto(random.uniform(3, 6), 0, 300)
    last = momentum.cdf(1500)
    # A jet's mass grows with its momentum: rho has one distribution, smeared.
    rho = stats.gamma(random.uniform(2, 4), 0.04, random.uniform(0.03, 0.07))

    def place(u: np.ndarray) -> np.ndarray:
        return momentum.ppf(last * u)

    def values(u: np.ndarray) -> np.ndarray:
        pt = place(u[:, 1])
        return np.column_stack([rho.ppf(0.999 * u[:, 0]) * pt, pt])

    centres = np.quantile(
        values(np.random.default_rng(0).random((20_000, 2)))[:, 0], np.linspace(0.05, 0.95, 19)
    )
    return place, values, centres


def _piece(
    random: np.random.Generator,
    centres: np.ndarray,
    ends: np.ndarray,
    *,
    in_momentum: bool = False,
) -> tuple[str, Function]:
    """Return a bump, a step or, between the ends, a slope of size one along mass or momentum."""
    kind = random.choice(["bump", "step", "slope"])
    centre, axis = random.choice(centres), int(in_momentum)
    scale = 4 if in_momentum else 1
    if kind == "bump":
        width = scale * np.exp(random.uniform(np.log(8), np.log(60)))  # its full width
        name = f"bump {width:.0f} wide at {centre:.0f}"
        return name, lambda x: np.exp(-(((x[:, axis] - centre) / (width / 2)) ** 2) / 2)
    if kind == "step":
        width = scale * random.uniform(3, 15)
        return f"step at {centre:.0f}", lambda x: np.tanh((x[:, axis] - centre) / width)
    low, high = ends
    if random.random() < 0.5:
        return "slope", lambda x: (x[:, axis] - low) / (high - low)
    return "slope in the logarithm", lambda x: np.log(x[:, axis] / low) / np.log(high / low)


def _noise(random: np.random.Generator, centres: np.ndarray, ends: np.ndarray) -> tuple[str, Noise]:
    kind = random.choice(["normal", "logistic", "skewed", "heavy-tailed", "two populations"])
    if kind == "two populations":
        name, piece = _piece(random, centres, ends)
        mean, size = random.uniform(0.15, 0.4), random.uniform(-1, 1)

        def share(x: np.ndarray) -> np.ndarray:
            return expit(logit(mean) + size * piece(x))

        distance = random.uniform(1.5, 3)
        first, second = stats.norm(0, 0.8), stats.norm(distance, random.uniform(0.5, 1))
        return f"{kind}, share {name}", Noise(first, second, share)
    noise = {
        "normal": stats.norm(),
        "logistic": stats.logistic(scale=0.55),
        "skewed": random.choice([stats.gumbel_r(), stats.gumbel_l(), stats.gamma(2.5, -2.5)]),
        "heavy-tailed": stats.t(random.uniform(2.5, 5)),
    }[kind]
    return kind, Noise(noise)


def _output(random: np.random.Generator, latent: np.ndarray) -> tuple[str, Function, Function]:
    """Return what the classifier shows of its latent score, and the way back."""
    kind = random.choice(["as it is", "on [0, 1]", "saturated", "atom"], p=[0.3, 0.4, 0.15, 0.15])
    if kind == "as it is":
        return kind, lambda z: z, lambda s: s
    if kind == "on [0, 1]":
        return kind, expit, logit
    ends = {"saturated": [0, 0.997], "atom": [random.uniform(0.05, 0.3), 1]}[kind]
    low, high = np.quantile(latent, ends)
    if kind == "saturated":  # all scores above are one number
        return kind, lambda z: np.minimum(z, high), lambda s: np.where(s < high, s, np.inf)
    return kind, lambda z: np.maximum(z, low), lambda s: np.where(s < low, -np.inf, s)


def grid(shape: Shape, points: int = 40_000) -> np.ndarray:
    """Return values of one attribute that stand for its spectrum, evenly by their number."""
    return shape.attributes(np.repeat((np.arange(points)[:, None] + 0.5) / points, 2, axis=1))


def exact_cut(shape: Shape, efficiency: float, attributes: np.ndarray) -> np.ndarray:
    """Return the score above which that fraction of the background lies at each value."""
    level = np.full(len(attributes), 1 - efficiency)
    noise = shape.noise.quantile_at(level, attributes)
    return shape.output(shape.response(attributes) + shape.spread(attributes) * noise)


def kept(shape: Shape, cut: np.ndarray, attributes: np.ndarray) -> np.ndarray:
    """Return what fraction of the background lies above a cut at each value, exactly."""
    return 1 - shape.cdf(cut, attributes)


def ratio_to_ideal(
    shape: Shape, cut: np.ndarray, attributes: np.ndarray, events: int = TEST_EVENTS
) -> float:
    """Return ideal / (ideal + excess) of the Jensen-Shannon divergence that a cut causes.

    The ideal is that of a random selection among so many test events; the excess what the cut
    causes with infinitely many.
    """
    edges = np.linspace(LOW, HIGH, BINS + 1)
    passing = kept(shape, cut, attributes)
    p, q = (np.histogram(attributes[:, 0], edges, weights=w)[0] for w in (passing, 1 - passing))
    share = p.sum() / (p.sum() + q.sum())
    p, q = p / p.sum(), q / q.sum()
    both = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / both), 0) + np.where(q > 0, q * np.log(q / both), 0)
    excess = max(terms.sum() / 2, 0.0)
    filled = np.count_nonzero(both * events > 1)
    ideal = (filled - 1) / 8 / (events * share * (1 - share))
    return ideal / (ideal + excess)


def chi2_per_cell(
    shape: Shape,
    cut: np.ndarray,
    attributes: np.ndarray,
    efficiency: float,
    events: int = 1_000_000,
) -> float:
    """Return what chi2 per cell of the kept fraction one expects in 20 x 10 cells of test events.

    One is ideal. Cells hold equal shares of the events: in pT, and in mass within each.
    """
    order = np.lexsort([attributes[:, 0], attributes[:, 1]])
    stripes = np.array_split(order, 10)
    cells = [c for s in stripes for c in np.array_split(s[np.argsort(attributes[s, 0])], 20)]
    passing = kept(shape, cut, attributes)
    off = np.array([passing[c].mean() - efficiency for c in cells])
    return float(1 + (off**2).mean() * (events / 200) / (efficiency * (1 - efficiency)))
