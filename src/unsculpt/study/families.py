"""The classifiers of the study, by the names of the paper's figures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from unsculpt import FeatureDecorrelator
from unsculpt.classifiers import Classifier, balance_weights, fit_many, planing_weights
from unsculpt.devices import cores
from unsculpt.study.evaluation import Values
from unsculpt.study.sample import Splits


def published_disco(alpha: float, **parameters: Any) -> Classifier:
    """DisCo as its authors trained it: ReLU, and Adam at 1e-4.

    Their loss adds the mean cross entropies of both classes, ours is the mean over all events, so
    their strength is twice ours.
    """
    return Classifier.disco(alpha / 2, activation="relu", learning_rate=1e-4, **parameters)


@dataclass(frozen=True)
class Family:
    """Classifiers that differ in strength and seed.

    Attributes:
        new: makes one from a strength.
        planed: whether pT is planed away and left out of the inputs.
        decorrelated: whether a flow decorrelates the inputs first, the same for all seeds.
    """

    new: Callable[..., Classifier]
    planed: bool = False
    decorrelated: bool = False


def vdnn(alpha: float, **parameters: Any) -> Classifier:
    """Return the plain network, which has no strength."""
    return Classifier.vdnn(**parameters)


FAMILIES = {
    "vDNN": Family(vdnn),
    "DNN (cf-inputs)": Family(vdnn, decorrelated=True),
    "DisCo": Family(Classifier.disco),
    "MoDe": Family(Classifier.mode),
    "adversary": Family(Classifier.adversarial),
    "published DisCo": Family(published_disco, planed=True),
}


def train_family(
    family: str,
    models: list[tuple[float, int]],
    epochs: int,
    jets: Splits,
    feature_epochs: int = 0,
) -> tuple[Values, Values]:
    """Train a classifier for each strength and seed.

    Args:
        family: by its name.
        models: strength and seed of each.
        epochs: of the classifiers.
        jets: to train on and to score.
        feature_epochs: of the flow on the inputs, if the family has one.

    Returns:
        Their scores, log odds, on the background to fit on and on the test jets, (models, n).
    """
    recipe, train, test = FAMILIES[family], jets.train, jets.test
    background = train.label == 0
    inputs: list[Values] = [train.features, test.features]
    weight = None
    if recipe.planed:
        others = np.array(train.names) != "pt"
        pt = train.features[:, train.names.index("pt")]
        weight = planing_weights(pt, train.label) * balance_weights(train.label)
        inputs = [features[:, others] for features in inputs]
    if recipe.decorrelated:
        flow = FeatureDecorrelator.paper(epochs=feature_epochs)
        flow.fit(train.features[background], train.mass[background])
        inputs = [flow.transform(part.features, part.mass) for part in (train, test)]
    classifiers = fit_many(
        [recipe.new(alpha, seed=seed, epochs=epochs) for alpha, seed in models],
        inputs[0],
        train.label,
        protected=train.mass,
        sample_weight=weight,
    )
    return score_all(classifiers, inputs[0][background]), score_all(classifiers, inputs[1])


def score_all(classifiers: list[Classifier], features: Values) -> Values:
    """Return the log odds of every classifier for every event, (classifiers, n)."""
    with ThreadPoolExecutor(cores()) as pool:
        rows = pool.map(lambda c: c.decision_function(features).astype("f4"), classifiers)
        return np.stack(list(rows))
