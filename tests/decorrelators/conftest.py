"""Flows that the tests of a flow share.

Those of one number of events, members and attributes share what XLA compiles: EVENTS here, five
hundred in `quick`.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from unsculpt import FlowDecorrelator
from unsculpt.datasets import toys

EVENTS, MEMBERS = 10_000, 2


class Fitted(NamedTuple):
    """A decorrelator, the events it was fitted on, and fresh ones to test it on."""

    flow: FlowDecorrelator
    train: toys.Toy
    test: toys.Toy


def within(train, test):
    """The test events whose protected attributes lie in the fitted range."""
    low, high = train.protected.min(axis=0), train.protected.max(axis=0)
    inside = (test.protected >= low) & (test.protected <= high)
    inside = inside if inside.ndim == 1 else inside.all(axis=1)
    return replace(
        test,
        score=test.score[inside],
        protected=test.protected[inside],
        label=test.label[inside],
    )


def fitted(toy, events=EVENTS, flow=None, **settings):
    train = toy(events, 0, seed=1)
    test = within(train, toy(20_000, 2_000, seed=2))
    flow = flow or FlowDecorrelator(**{"members": MEMBERS} | settings)
    return Fitted(flow.fit(train.score, train.protected), train, test)


@pytest.fixture(scope="session")
def smooth():
    return fitted(toys.smooth)


@pytest.fixture(scope="session")
def tagger():
    return fitted(toys.tagger)


@pytest.fixture(scope="session")
def two_attributes():
    return fitted(toys.two_attributes)


@pytest.fixture(scope="session")
def atoms():
    return fitted(toys.atoms)


@pytest.fixture(scope="session")
def binary():
    """The paper's appendix A with m as a category, of the width of two attributes."""
    return fitted(toys.appendix_a, categorical=[0])


@pytest.fixture(scope="session")
def paper():
    flow = FlowDecorrelator.paper(epochs=15)
    return fitted(toys.smooth, 5_000, flow=flow)


class Channels(NamedTuple):
    """Background whose mean follows the mass, by another rule in each channel."""

    flow: FlowDecorrelator
    score: np.ndarray
    table: pd.DataFrame
    exact: np.ndarray


@pytest.fixture(scope="session")
def channels():
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        mass, channel = rng.uniform(50, 150, n), rng.choice(["ee", "mm"], n)
        mean = np.where(channel == "ee", 1, -1) * (mass - 100) / 50
        score = rng.normal(mean)
        table = pd.DataFrame({"mass": mass, "channel": channel})
        return score, table, norm.cdf(score - mean)

    score, table, _ = draw(10_000, seed=1)
    flow = FlowDecorrelator(members=MEMBERS, categorical=["channel"]).fit(score, table)
    score, fresh, exact = draw(10_000, seed=2)
    inside = fresh["mass"].between(table["mass"].min(), table["mass"].max()).to_numpy()
    return Channels(flow, score[inside], fresh[inside], exact[inside])


@pytest.fixture(scope="session")
def quick():
    """A rough fit for what does not depend on its quality: one shape, compiled once."""

    def fit(score, protected, sample_weight=None, **settings):
        flow = FlowDecorrelator(**{"members": 2, "epochs": 2, "batch_size": 64} | settings)
        return flow.fit(score, protected, sample_weight=sample_weight)

    return fit


@pytest.fixture(scope="session")
def events():
    """Five hundred background events of the tagger."""
    return toys.tagger(500, 0, seed=3)


@pytest.fixture(scope="session")
def rough(quick, events):
    """That fit to them; copy it before changing it."""
    return quick(events.score, events.protected, seed=4)
