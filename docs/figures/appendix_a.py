"""Draws the figures of docs/features.md into docs/images and prints its numbers.

python docs/figures/appendix_a.py [--seeds 4]
"""

import argparse
from pathlib import Path

import numpy as np

from unsculpt import FeatureDecorrelator, FlowDecorrelator, metrics
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys
from unsculpt.study.figures.appendix_a import (
    MAPS,
    appendix_a_dataset,
    appendix_a_representations,
)

IMAGES = Path(__file__).parents[1] / "images"


def best_auc(feature: np.ndarray, label: np.ndarray) -> float:
    """Return the AUC of the likelihood ratio, learned from half of the events, on the others."""
    edges = np.linspace(-5, 5, 201)
    place = np.clip(np.searchsorted(edges, feature), 1, len(edges) - 1) - 1
    learn = np.arange(len(feature)) % 2 == 0
    counts = [np.bincount(place[learn & (label == c)], minlength=len(edges) - 1) for c in (0, 1)]
    ratio = (counts[1] + 0.01) / (counts[0] + 1)
    return metrics.auc(ratio[place[~learn]], label[~learn])


def sculpting(feature: np.ndarray, toy: toys.Toy) -> float:
    """How far the background is from the same in both categories: Kolmogorov and Smirnov's D."""
    zero, one = (np.sort(feature[toy.background & (toy.protected == m)]) for m in (0, 1))
    both = np.concatenate([zero, one])
    shares = [np.searchsorted(s, both, side="right") / len(s) for s in (zero, one)]
    return float(np.abs(shares[0] - shares[1]).max())


def as_it_came(toy: toys.Toy) -> np.ndarray:
    """Return the feature x."""
    return toy.score


def mirrored(toy: toys.Toy) -> np.ndarray:
    """Return the feature with its sign changed for m = 1: the same information."""
    return np.where(toy.protected == 1, -toy.score, toy.score)


def main() -> None:
    """Everything the page shows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4)
    seeds = range(parser.parse_args().seeds)
    train, test = toys.appendix_a(5_000, 5_000, seed=1), toys.appendix_a(50_000, 50_000, seed=2)

    figures = {
        "appendix-a-data": appendix_a_dataset(test),
        "appendix-a-ratios": appendix_a_representations(test),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=120)
    for name, mirror in MAPS.items():
        score, ratio = toys.appendix_a_decorrelated(test, mirrored=mirror)
        print(f"{name}: AUC {metrics.auc(ratio, test.label):.4f}, D {sculpting(score, test):.4f}")

    b = train.background
    for feature in (as_it_came, mirrored):
        for labelled in (False, True):
            rows = slice(None) if labelled else b
            labels = train.label if labelled else None
            found = []
            for seed in seeds:
                flow = FeatureDecorrelator(batch_size=256, categorical=[0], seed=seed)
                flow.fit(feature(train)[rows], train.protected[rows], labels=labels)
                latent = flow.transform(feature(test), test.protected)
                bkg = test.background
                log_prob = flow.log_prob(feature(test)[bkg], test.protected[bkg]).mean()
                found.append((best_auc(latent, test.label), sculpting(latent, test), log_prob))
            name = f"{feature.__name__}, {'base by class' if labelled else 'background alone'}"
            report(name, found)

    found = []
    for seed in seeds:
        inputs, fresh = (np.column_stack([t.score, t.protected]) for t in (train, test))
        network = Classifier.vdnn(epochs=20, seed=seed).fit(inputs, train.label)
        score, fresh_score = (network.decision_function(x) for x in (inputs, fresh))
        flow = FlowDecorrelator(categorical=[0], seed=seed).fit(score[b], train.protected[b])
        flat = flow.transform(fresh_score, test.protected)
        found.append((metrics.auc(flat, test.label), sculpting(flat, test), np.nan))
    report("score, then a flow", found)


def report(name: str, found: list[tuple[float, float, float]]) -> None:
    """Print what each seed got."""
    auc, distance, log_prob = np.transpose(found)
    print(
        f"{name}: AUC {auc.min():.4f} to {auc.max():.4f}, D {distance.min():.4f} to "
        f"{distance.max():.4f}, log density {log_prob.min():.3f} to {log_prob.max():.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
