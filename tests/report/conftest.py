from html.parser import HTMLParser

import numpy as np
import pytest

from unsculpt.datasets import toys
from unsculpt.decorrelators import Decorrelator
from unsculpt.report import write_report

HOSTILE = '<script>alert("x")</script> & $ \' </style> τ21 [GeV]'


class Exact(Decorrelator):
    """The true conditional CDF of a toy, with what a trained model has beside it."""

    n_scores_ = 1

    def __init__(self, toy=None):
        self.toy = toy
        self.history_ = {"train_loss": np.array([[3.0, 2], [1, 2]]), "best_epoch": np.array([1, 1])}
        self.training_ = {"events": 12}

    def fit(self, scores, protected, *, sample_weight=None):
        return self

    def transform(self, scores, protected):
        first = protected[protected.columns[0]] if hasattr(protected, "columns") else protected
        return self.toy.cdf(scores, first)

    def threshold(self, efficiency, protected):
        scores = np.linspace(0, 1, 201)
        first = protected[protected.columns[0]] if hasattr(protected, "columns") else protected
        levels = [self.toy.cdf(scores, np.full(201, m)) for m in first]
        return np.array([np.interp(1 - efficiency, level, scores) for level in levels])

    def get_params(self, deep=True):
        return {"seed": 0}

    def _state(self):
        raise NotImplementedError

    def _restore(self, arrays, about):
        raise NotImplementedError


class Page(HTMLParser):
    """What stands in a page: tags with their attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._inside = [], [], False
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data
        else:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="session")
def toy():
    return toys.tagger(4000, 1000, seed=1)


@pytest.fixture(scope="session")
def weight(toy):
    """Mostly positive, a tenth negative, as generators give them."""
    random = np.random.default_rng(2)
    sign = random.choice([1, -1], len(toy.score), p=[0.9, 0.1])
    return sign * random.uniform(0.5, 2, len(toy.score))


@pytest.fixture(scope="session")
def written(toy, weight, tmp_path_factory):
    """A report with weights, and names that would like to be code."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    numbers = write_report(
        path,
        Exact(toy),
        toy.score,
        toy.protected,
        toy.label,
        sample_weight=weight,
        score_name=HOSTILE,
        names=[HOSTILE],
        figures=path.with_name("figures"),
        provenance={"Files": HOSTILE},
    )
    return path, numbers


@pytest.fixture(scope="session")
def hostile():
    return HOSTILE


@pytest.fixture(scope="session")
def exact(toy):
    return Exact(toy)


@pytest.fixture(scope="session")
def parse():
    return lambda path: Page(path.read_text(encoding="utf-8"))
