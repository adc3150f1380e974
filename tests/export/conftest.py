import warnings
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from unsculpt import (
    DDTDecorrelator,
    FlowDecorrelator,
    KNNDecorrelator,
    OddsDecorrelator,
    QuantileDecorrelator,
    SplineDecorrelator,
    TransportDecorrelator,
)
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys

EVENTS = 5_000


class Case(NamedTuple):
    """A fitted decorrelator and the columns it was fitted on, by the names of its inputs."""

    model: Any
    scores: dict[str, np.ndarray]
    protected: dict[str, np.ndarray]

    def changed(self, **attributes):
        """The same fit with another policy, or other names of columns."""
        model = copy(self.model)
        for name, value in attributes.items():
            setattr(model, name, value)
        return self._replace(model=model)

    def transform(self, scores, protected):
        """What Python gives, whatever it warns of."""
        scores = np.column_stack(list(scores.values()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flat = self.model.transform(scores, pd.DataFrame(protected))
        return flat.T

    def hard_events(self, events, seed=0):
        """Events between, at and beyond everything special: knots, atoms, the ends, outside."""
        rng = np.random.default_rng(seed)
        scores, protected = {}, {}
        for name, column in self.scores.items():
            scores[name] = _hard(rng, column, events)
        for name, column in self.protected.items():
            text = column.dtype.kind in "OU"
            few = len(np.unique(column)) < 10
            protected[name] = (
                rng.choice(column, events) if text or few else _hard(rng, column, events)
            )
        return scores, protected


class Classes(Case):
    """The same for probabilities, which sum to one."""

    def hard_events(self, events, seed=0):
        """Events of the fit, and others at and near zero and one."""
        _, protected = super().hard_events(events, seed)
        rng, k = np.random.default_rng(seed), len(self.scores)
        rows = rng.choice(np.column_stack(list(self.scores.values())), events)
        near = rng.uniform(size=events) < 0.3
        rows[near] = rng.dirichlet(np.full(k, 0.05), near.sum())
        rows[: 2 * k] = np.vstack([np.eye(k), (1 - np.eye(k)) / (k - 1)])[:events]
        return dict(zip(self.scores, rows.T, strict=True)), protected


def _hard(rng, column, events):
    low, high = column.min(), column.max()
    width = high - low
    least = low - width if low <= 0 else low / 2  # what is positive stays so
    far = rng.choice([least, low - 1e-9, low, high, high + 1e-9, high + 9 * width], events)
    return np.select(
        [rng.uniform(size=events) < p for p in (0.1, 0.4)],
        [far, rng.choice(column, events)],
        rng.uniform(max(least, low - 0.1 * width), high + 0.1 * width, events),
    )


def quick(**settings):
    return FlowDecorrelator(**{"members": 2, "epochs": 2, "batch_size": 250} | settings)


def with_atoms(toy):
    """A tagger whose score is exactly 0 or 1 for many events, and 0.5 for some."""
    score = np.clip(1.4 * toy.score - 0.2, 0, 1)
    return np.where(np.abs(score - 0.5) < 0.01, 0.5, score)


@pytest.fixture(scope="session")
def tagger():
    toy = toys.tagger(EVENTS, 0, seed=1)
    score = with_atoms(toy)
    return Case(quick().fit(score, toy.protected), {"score": score}, {"protected": toy.protected})


@pytest.fixture(scope="session")
def marked(tagger):
    """The same with NaN outside."""
    return tagger.changed(outside="nan")


@pytest.fixture(scope="session")
def paper():
    toy = toys.smooth(EVENTS, 0, seed=1)
    model = FlowDecorrelator.paper(epochs=1)
    return Case(
        model.fit(toy.score, toy.protected), {"score": toy.score}, {"protected": toy.protected}
    )


@pytest.fixture(scope="session")
def two_scores():
    """Two scores and two attributes, which no table holds, the second with long tails."""
    rng, events = np.random.default_rng(1), 20_000
    ends = np.where(np.arange(events) % 100 == 0, 10, 1) * rng.uniform(-1, 1, events)
    protected = {"protected_0": rng.uniform(0, 1, events), "protected_1": ends}
    score = rng.normal(ends)
    scores = {"score_0": score, "score_1": -(score**3)}
    model = quick(batch_size=1000, outside="nan").fit(
        *(np.column_stack(list(columns.values())) for columns in (scores, protected))
    )
    return Case(model, scores, protected)


@pytest.fixture(scope="session")
def clipped(two_scores):
    """The same with the nearest value outside."""
    return two_scores.changed(outside="clip")


@pytest.fixture(scope="session")
def channels():
    """A mass, a channel by name and a year, in the paper's recipe."""
    rng = np.random.default_rng(1)
    mass, channel = rng.uniform(50, 150, EVENTS), rng.choice(["ee", "mm", "em"], EVENTS)
    year = rng.choice([2017, 2018], EVENTS)
    score = rng.normal(mass / 100 + (channel == "ee"))
    table = {"mass": mass, "channel": channel, "year": year.astype(float)}
    model = FlowDecorrelator.paper(epochs=1, categorical=["channel", "year"])
    return Case(model.fit(score, pd.DataFrame(table)), {"score": score}, table)


@pytest.fixture(scope="session")
def spline(channels):
    table = {name: channels.protected[name] for name in ("mass", "channel")}
    model = SplineDecorrelator(categorical=["channel"])
    return Case(model.fit(channels.scores["score"], pd.DataFrame(table)), channels.scores, table)


@pytest.fixture(scope="session")
def plane():
    """A spline of two attributes, with NaN outside."""
    toy = toys.two_attributes(EVENTS, 0, seed=1)
    protected = dict(zip(("mass", "pt"), toy.protected.T, strict=True))
    model = SplineDecorrelator(outside="nan").fit(toy.score, pd.DataFrame(protected))
    return Case(model, {"score": toy.score}, protected)


@pytest.fixture(scope="session")
def quantile(tagger):
    """Steps, read from a table."""
    model = QuantileDecorrelator(members=2, epochs=2, batch_size=250)
    model.fit(tagger.scores["score"], tagger.protected["protected"])
    return tagger._replace(model=model)


@pytest.fixture(scope="session")
def quantile_spline(channels):
    """A spline through quantiles, from the networks."""
    model = QuantileDecorrelator.paper(epochs=1, continuous=True, categorical=["channel", "year"])
    return channels._replace(
        model=model.fit(channels.scores["score"], pd.DataFrame(channels.protected))
    )


@pytest.fixture(scope="session")
def knn(tagger):
    model = KNNDecorrelator(outside="nan")
    return tagger._replace(model=model.fit(tagger.scores["score"], tagger.protected["protected"]))


@pytest.fixture(scope="session")
def ddt():
    rng = np.random.default_rng(1)
    table = {"mass": rng.uniform(50, 300, EVENTS), "pt": rng.uniform(2_000, 5_000, EVENTS)}
    score = rng.normal(np.log(table["mass"]))
    return Case(DDTDecorrelator().fit(score, pd.DataFrame(table)), {"score": score}, table)


@pytest.fixture(scope="session")
def chain(tagger):
    model = KNNDecorrelator().then(SplineDecorrelator())
    return tagger._replace(model=model.fit(tagger.scores["score"], tagger.protected["protected"]))


def moved_vectors(base, **settings):
    settings = {"members": 2, "epochs": 2, "batch_size": 250} | settings
    return TransportDecorrelator(base=base, **settings)


def of_classes(model):
    """A model of three probabilities."""
    toy = toys.three_classes(EVENTS, 0, seed=1)
    scores = {f"score_{i}": column for i, column in enumerate(toy.score.T)}
    return Classes(model.fit(toy.score, toy.protected), scores, {"protected": toy.protected})


@pytest.fixture(scope="session")
def classes():
    """The odds on top of a map."""
    return of_classes(moved_vectors("normal").then(OddsDecorrelator(outside="nan")))


@pytest.fixture(scope="session")
def source():
    """A map and the way back of another one."""
    return of_classes(moved_vectors("source"))


@pytest.fixture(scope="session")
def simplex():
    return of_classes(moved_vectors("simplex", outside="nan"))


@pytest.fixture(scope="session")
def ball():
    """Two components of different units and two attributes, one of them text."""
    rng = np.random.default_rng(1)
    mass, channel = rng.uniform(50, 150, EVENTS), rng.choice(["ee", "mm"], EVENTS)
    scores = {"score_0": rng.normal(mass / 100), "score_1": 50 * rng.normal(channel == "ee")}
    table = {"mass": mass, "channel": channel}
    model = moved_vectors("ball", categorical=["channel"], outside="nan")
    model.fit(np.column_stack(list(scores.values())), pd.DataFrame(table))
    return Case(model, scores, table)


@pytest.fixture(scope="session")
def cube(ball):
    model = moved_vectors("cube", categorical=["channel"])
    model.fit(np.column_stack(list(ball.scores.values())), pd.DataFrame(ball.protected))
    return ball._replace(model=model)


ONE_BY_ONE = [
    "tagger",
    "marked",
    "two_scores",
    "clipped",
    "channels",
    "spline",
    "quantile",
    "quantile_spline",
    "knn",
    "ddt",
    "chain",
]
VECTORS = ("source", "simplex", "ball", "cube")


@pytest.fixture(params=ONE_BY_ONE)
def ordered(request):
    """Each kind of decorrelator of one score after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture(
    params=[
        *ONE_BY_ONE,
        "classes",
        *(pytest.param(name, marks=pytest.mark.slow) for name in VECTORS),
    ]
)
def case(request):
    """Each kind of decorrelator that can be exported."""
    return request.getfixturevalue(request.param)


class Tagged(NamedTuple):
    """A classifier, a decorrelator of its score, and events."""

    classifier: Classifier
    model: FlowDecorrelator
    features: np.ndarray
    mass: np.ndarray


@pytest.fixture(
    scope="session",
    params=["predict_proba", pytest.param("decision_function", marks=pytest.mark.slow)],
)
def classified(request):
    rng = np.random.default_rng(1)
    mass, label = rng.uniform(50, 150, EVENTS), rng.integers(2, size=EVENTS)
    features = np.column_stack([mass + 50 * label, rng.normal(size=EVENTS) + label, mass])
    swish = request.param == "predict_proba"
    classifier = Classifier(
        hidden=(16, 16),
        activation="swish" if swish else "relu",
        batch_normalisation=swish,
        epochs=2,
    ).fit(features, label)
    score = getattr(classifier, request.param)(features)
    model = quick().fit(score[:, 1] if swish else score, mass)
    return request.param, Tagged(classifier, model, features, mass)
