"""The methods that are held to the contract, their events and their fitted models.

A new method is under test as soon as its class is defined: the registry is read when the tests are
collected. `pytest -p my_method tests/decorrelators/contract -k MyDecorrelator` runs the contract on
the method of a module `my_method`.
"""

import pickle
import sys
import warnings
from functools import cache
from inspect import CO_GENERATOR, isabstract
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import unsculpt as us
from unsculpt.saving import MODELS

EVENTS = 400
# Of what trains a network. One size of a batch, as each is compiled anew.
TINY = {"members": 1, "epochs": 2, "batch_size": 128}
LONGER = {"epochs": 30}  # gets somewhere
CASES = ("one", "two", "mixed")


def kinds():
    """The registered decorrelators that can be made, the wrapper of tables aside."""
    us.load  # noqa: B018  imports all that come with the package
    return [
        kind
        for kind in MODELS.values()
        if issubclass(kind, us.Decorrelator) and not isabstract(kind)
    ]


def small(kind, **parameters):
    """A decorrelator of this kind that is fitted in no time."""
    if kind is us.Chain:
        return small(us.KNNDecorrelator, **parameters).then(small(us.KNNDecorrelator, **parameters))
    if kind is us.CrossFit:
        each = small(us.KNNDecorrelator, **parameters)
        return us.CrossFit(each, folds=parameters.get("folds", 3))
    if kind is us.Moved:
        return us.Moved(small(us.SplineDecorrelator, **parameters), to="barycentre")
    if kind is us.Morphing:
        return us.Morphing(small(us.SplineDecorrelator, **parameters), to={"sample": 1})
    known = kind().get_params()
    return kind(**{k: v for k, v in (TINY | parameters).items() if k in known})


def trains(kind):
    """Whether it has a network: then a fit is random, and costs seconds to compile."""
    return "epochs" in small(kind).get_params()


def takes(kind, case):
    """Whether it takes such attributes; a spline has no room for two beside the sample."""
    if kind is us.Morphing:
        return case == "one"
    named = [name.split("__")[-1] for name in small(kind).get_params()]
    return case != "mixed" or "categorical" in named


def takes_long(kind, case, *, weights):
    """Each case of a network is compiled anew, as is each number of events: most are for CI.

    So are fits of seconds: of a spline of two attributes with weights, of several splines.
    """
    if kind is us.SplineDecorrelator:
        return case != "one" and weights
    if kind is us.OddsDecorrelator:
        return case != "one"
    return trains(kind) and (case != "one" or weights)


def skip_if_costly(kind, case):
    """Fit again for one kind of attributes, not for all: networks are compiled each time."""
    if case == "two" or (trains(kind) and case == "mixed"):
        pytest.skip("other attributes show it as well")


def has_inverse(model):
    """Whether there is one: cuts at a few quantiles have none."""
    return hasattr(model, "inverse_transform") and getattr(model, "continuous", True)


class Events(NamedTuple):
    """Background events with one or two scores."""

    scores: np.ndarray
    protected: pd.DataFrame
    weight: np.ndarray | None = None

    @property
    def pair(self):
        """What `transform` takes."""
        return self.scores, self.protected

    @property
    def first(self):
        """The first score."""
        return self.scores.reshape(EVENTS, -1)[:, 0]

    @property
    def numbers(self):
        """Of the events: they keep theirs among others."""
        return self.protected.index if isinstance(self.protected, pd.DataFrame) else None

    def some(self, rows):
        """Return some of the events."""
        weight = None if self.weight is None else self.weight[rows]
        return Events(self.scores[rows], self.protected.iloc[rows], weight)


def background(kind, case, events=EVENTS, seed=0):
    """Events whose scores follow the mass; two scores where there are two attributes.

    As the method takes them: some take probabilities, some a column of samples.
    """
    rng = np.random.default_rng(seed)
    mass = 50 + rng.exponential(40, events)
    pt = rng.uniform(300, 500, events)
    channel = rng.choice(["ee", "mm"], events)
    shift = 2 * np.log(mass / 50) + (channel == "mm") * (case == "mixed")
    score = rng.logistic(size=events) + shift
    other = rng.normal(size=events) + pt / 200
    table = {
        "one": {"mass": mass},
        "two": {"mass": mass, "pt": pt},
        "mixed": {"mass": mass, "channel": channel},
    }[case]
    scores = score if case == "one" else np.column_stack([score, other])
    if kind is us.OddsDecorrelator:
        scores = softmax(np.column_stack([score, other, np.zeros(events)]), axis=1)
    if kind is us.Morphing:
        table["sample"] = rng.integers(0, 2, events)
        scores = scores + table["sample"]
    return Events(scores, pd.DataFrame(table))


def fit(kind, events, case, **parameters):
    parameters |= {"categorical": ["channel"]} if case == "mixed" else {}
    model = small(kind, **parameters)
    # The same events are in the same folds in any order.
    more = {"event": events.numbers} if kind is us.CrossFit else {}
    with warnings.catch_warnings():
        # A map of vectors has a word to say about a single score.
        warnings.filterwarnings("ignore", "scores has one component")
        return model.fit(events.scores, events.protected, sample_weight=events.weight, **more)


@cache
def fitted(kind, case):
    """A model that tests share and must not change."""
    return fit(kind, background(kind, case), case)


@cache
def fitted_longer(kind, case):
    """One that gets somewhere, likewise."""
    return fit(kind, background(kind, case), case, **LONGER)


@cache
def calls_of_a_fit(kind):
    """How many calls of our functions a fit takes once all is compiled."""
    model, other = copy_of(fitted(kind, "one")), background(kind, "one", seed=9)
    model.fit(*other.pair)
    with Bomb() as bomb:
        model.fit(*other.pair)
    return bomb.calls


def copy_of(model):
    return pickle.loads(pickle.dumps(model))


def assert_same(one, other):
    """The same numbers to the last bit."""
    np.testing.assert_array_equal(one, other)


class Bomb:
    """Presses Ctrl-C at a certain call of a function of ours, wherever that is."""

    def __init__(self, fuse=None):
        self.calls, self.fuse, self.files = 0, fuse, set()

    def __call__(self, frame, event, _):
        code = frame.f_code
        ours = "/unsculpt/" in code.co_filename and not code.co_flags & CO_GENERATOR
        if event == "call" and ours:
            self.calls += 1
            self.files.add(code.co_filename)
            if self.calls == self.fuse:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self):
        self.calls = 0
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
