"""A tiny run of the study, in which quick models stand in for networks and flows.

What the study does with its models does not depend on what they are. The same with the models of
the paper takes minutes: test_complete.py.
"""

import numpy as np
import pytest
from scipy.stats import norm

from unsculpt.study import (
    Preset,
    bump_hunt,
    bump_search,
    cuts,
    evaluation,
    families,
    methods,
    ours,
    steps,
    study,
)
from unsculpt.study import run as run_study


class MeansClassifier:
    """Weighs every feature by how far apart the classes are in it, a little off for each seed."""

    def __init__(self, classifier, features, label):
        off = np.random.default_rng(classifier.seed).normal(1, 0.1, features.shape[1])
        means = [features[label == one].mean(axis=0) for one in (0, 1)]
        self.weight = off * (means[1] - means[0]) / features.var(axis=0)

    def decision_function(self, features):
        return features @ self.weight


def fit_many(classifiers, features, label, *, protected, sample_weight):
    return [MeansClassifier(classifier, features, label) for classifier in classifiers]


class ShiftedFeatures:
    """Subtracts from every feature what is linear in the mass."""

    @classmethod
    def paper(cls, *, epochs):
        return cls()

    def fit(self, features, mass):
        self.line = np.polyfit(mass, features, 1)
        return self

    def transform(self, features, mass):
        return features - np.outer(mass, self.line[0]) - self.line[1]


class NormalFlow:
    """Takes scores for normal, with mean and width that are polynomials of the mass."""

    def __init__(self, degree=3):
        self.degree = degree

    @classmethod
    def paper(cls, **settings):
        return cls(1)

    def fit(self, scores, mass):
        basis = self._basis(mass)
        self.mean = np.linalg.lstsq(basis, scores)[0]
        self.width = np.linalg.lstsq(basis, np.abs(scores - basis @ self.mean))[0]
        return self

    def transform(self, scores, mass):
        basis = self._basis(mass)
        return norm.cdf((scores - basis @ self.mean) / np.maximum(basis @ self.width, 1e-3))

    def _basis(self, mass):
        return np.vander(mass / 100, self.degree + 1)


@pytest.fixture(scope="session")
def stand_ins():
    """Puts quick models in the place of those that JAX would have to compile."""

    def replace(monkeypatch):
        monkeypatch.setattr(families, "fit_many", fit_many)
        monkeypatch.setattr(families, "FeatureDecorrelator", ShiftedFeatures)
        monkeypatch.setattr(steps, "FlowDecorrelator", NormalFlow)
        monkeypatch.setattr(ours, "SplineDecorrelator", NormalFlow)
        monkeypatch.setattr(cuts, "QuantileDecorrelator", NormalFlow)
        quick = ("splines", "designed tagger (DDT)")
        monkeypatch.setattr(methods, "METHODS", {name: methods.METHODS[name] for name in quick})
        monkeypatch.setattr(bump_search, "EFFICIENCIES", (0.35, 0.65))
        monkeypatch.setattr(bump_hunt, "EXPERIMENTS", 20)
        for module in (bump_search, evaluation, ours):
            monkeypatch.setattr(module, "cores", lambda: 1)  # processes take long to start

    return replace


@pytest.fixture(scope="session")
def tiny():
    return Preset(
        "tiny",
        seeds=2,
        alphas=(100.0, 200.0),
        few_alphas=(100.0,),
        epochs=1,
        published_epochs=1,
        runs=2,
        sizes=(1000,),
        feature_epochs=1,
        jets=2000,
        toys=5,
    )


@pytest.fixture(scope="session")
def folder(tiny, stand_ins, tmp_path_factory):
    """The folder of a run, with the studies that follow it."""
    folder = tmp_path_factory.mktemp("study") / "reproduction"
    with pytest.MonkeyPatch.context() as monkeypatch:
        stand_ins(monkeypatch)
        run_study(tiny, folder)
        study(folder)
    return folder
