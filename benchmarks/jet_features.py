"""A classifier on decorrelated features, and a flow on top of it: the paper's cf-inputs.

    python benchmarks/jet_features.py [--epochs 12] [--events 110000]

Fits a feature flow to the shipped jets, once to QCD alone and once to both classes with a base for
each, trains the same network on the features before and after, and fits a flow to each score on the
QCD jets of the validation split. Prints rejection and 1/JSD at 50% signal efficiency on the test
jets beside the 1/JSD of a random selection of the same size (the ideal), and the AUC over all jets
and at fixed mass.
"""

import argparse
import time
import warnings

import numpy as np

from unsculpt import FeatureDecorrelator, FlowDecorrelator, metrics
from unsculpt.classifiers import Classifier
from unsculpt.datasets import load_jets

BINS = np.linspace(50, 300, 51)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12, help="of classifiers and feature flows")
    parser.add_argument("--events", type=int, default=110_000, help="jets to train with")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", "protected is outside")  # a few jets past the last mass
    splits = {name: load_jets(name) for name in ("train", "val", "test")}
    train = splits["train"]
    chosen = np.random.default_rng(0).permutation(len(train))[: arguments.events]
    X, mass, label = train.features[chosen], train.mass[chosen], train.label[chosen]
    qcd = label == 0

    inputs = {"features": {n: j.features for n, j in splits.items()} | {"train": X}}
    for name, rows, labels in [
        ("cf-inputs", qcd, None),
        ("cf-inputs, base by class", slice(None), label),
    ]:
        start = time.perf_counter()
        flow = FeatureDecorrelator(epochs=arguments.epochs)
        flow.fit(X[rows], mass[rows], labels=labels)
        print(f"{name}: fitted in {time.perf_counter() - start:.0f} s", flush=True)
        others = {n: flow.transform(j.features, j.mass) for n, j in splits.items() if n != "train"}
        inputs[name] = others | {"train": flow.transform(X, mass)}

    print(f"{len(label):,} jets to train with, {len(splits['test']):,} to test")
    print(f"{'classifier on':25} {'flow':5} {'R50':>6} {'1/JSD50':>8} {'ideal':>6} AUC    at mass")
    other = splits["val"]
    background = other.label == 0
    for name, tables in inputs.items():
        network = Classifier.vdnn(epochs=arguments.epochs).fit(tables["train"], label)
        raw, held_out = (network.decision_function(tables[n]) for n in ("test", "val"))
        on_top = FlowDecorrelator().fit(held_out[background], other.mass[background])
        flat = on_top.transform(raw, splits["test"].mass)
        for with_flow, score in (("no", raw), ("yes", flat)):
            print(f"{name:25} {with_flow:5} {figures(score, splits['test'])}", flush=True)


def figures(score: np.ndarray, jets: object) -> str:
    rejection = metrics.rejection(score, jets.label)
    inverse = metrics.inverse_jsd(score, jets.label, jets.mass, bins=BINS)
    ideal = metrics.ideal_inverse_jsd(score, jets.label, jets.mass, bins=BINS).mean
    auc = metrics.auc(score, jets.label)
    at_mass = metrics.expected_auc(score, jets.label, jets.mass)
    return f"{rejection:6.1f} {inverse:8.4g} {ideal:6.0f} {auc:.4f} {at_mass:.4f}"


if __name__ == "__main__":
    main()
