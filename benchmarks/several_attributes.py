"""How fast are one to four attributes, and how flat are two on jets? Beside zuko and others.

    python benchmarks/several_attributes.py [--jets]

Without an option: million events a second of `transform`, the time of a call with 1,000 events, and
million events a second of `threshold`, for the spline (up to two attributes), the flow and a
conditional spline flow of zuko, in one process on all cores. Networks are trained for a moment:
their speed does not depend on it.

`--jets`: boosted trees on the shipped jets, the score decorrelated from mass and pT on 55,000 QCD
jets that the trees have not seen; chi2 per cell of what passes among 150,000 others, in 100 cells
of mass and pT; one is ideal.
"""

import argparse
import time
import warnings

import numpy as np
from peers import LightGBMQuantiles, NeighboursMap, ZukoFlow
from sklearn.ensemble import HistGradientBoostingClassifier

from unsculpt import FlowDecorrelator, QuantileDecorrelator, SplineDecorrelator
from unsculpt.datasets import load_jets
from unsculpt.devices import cores
from unsculpt.metrics import flatness_test

EFFICIENCIES = 0.5, 0.1, 0.05, 0.01


def fastest(function, *arguments, turns=3):
    """Return the seconds of the fastest of some calls after a first one."""
    function(*arguments)
    seconds = []
    for _ in range(turns):
        start = time.perf_counter()
        function(*arguments)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def zuko_transform(zuko, scores, attributes):
    """Return the conditional CDF by zuko, in chunks that fit the caches."""
    import torch

    rank = np.searchsorted(zuko.sorted, scores) / (len(zuko.sorted) + 1)
    latent = torch.special.ndtri(torch.tensor(rank).float().clamp(1e-6, 1 - 1e-6))[:, None]
    with torch.no_grad():
        parts = [
            torch.special.ndtr(zuko.flow(zuko._context(a)).transform(z))
            for a, z in zip(np.array_split(attributes, -(-len(scores) // 2**14)),
                            torch.tensor_split(latent, -(-len(scores) // 2**14)), strict=True)
        ]  # fmt: skip
    return torch.cat(parts).numpy()


def speed():
    """Print rates for one to four attributes."""
    import torch

    random = np.random.default_rng(0)
    every = np.column_stack(
        [
            random.exponential(50, 1_000_000),
            300 + random.exponential(100, 1_000_000),
            random.normal(30, 5, 1_000_000),
            random.integers(0, 3, 1_000_000),
        ]
    )
    scores = random.normal(size=len(every)) + every[:, 0] / 80
    for number in range(1, 5):
        attributes = every[:, :number]
        fit = scores[:30_000], attributes[:30_000]
        category = [3] if number == 4 else []
        models = {"flow": FlowDecorrelator(epochs=2, categorical=category).fit(*fit)}
        if number < 3:
            models["spline"] = SplineDecorrelator().fit(*fit)
        zuko = ZukoFlow().fit(scores[:5_000], attributes[:5_000])
        torch.set_num_threads(cores())
        calls = {name: (m.transform, m.threshold) for name, m in models.items()}
        calls["zuko"] = (lambda s, a, zuko=zuko: zuko_transform(zuko, s, a)), zuko.threshold
        for name, (transform, threshold) in calls.items():
            large = 1_000_000 if name == "spline" or number == 1 else 200_000
            rows, few = slice(large), slice(1_000)
            rate = large / fastest(transform, scores[rows], attributes[rows]) / 1e6
            small = fastest(transform, scores[few], attributes[few], turns=20)
            cuts = 50_000 / fastest(threshold, 0.1, attributes[:50_000], turns=1) / 1e6
            print(
                f"{number} {name:7s} transform {rate:6.2f} M/s, "
                f"1,000 events {small * 1e3:6.2f} ms, threshold {cuts:6.3f} M/s",
                flush=True,
            )


def jets():
    """Print chi2 per cell on the shipped jets for mass and pT."""
    train, test = load_jets("train"), load_jets("test")
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first
    tagger = HistGradientBoostingClassifier(max_iter=300, random_state=0)
    tagger.fit(train.features[~aside], train.label[~aside])

    def events(jets, rows):
        pt = jets.features[rows, jets.names.index("pt")]
        return tagger.decision_function(jets.features[rows]), np.column_stack([jets.mass[rows], pt])

    scores, attributes = events(train, aside)
    unseen, others = events(test, test.label == 0)
    others = np.clip(others, attributes.min(axis=0), attributes.max(axis=0))
    for model in (
        SplineDecorrelator(),
        FlowDecorrelator(),
        QuantileDecorrelator(),
        ZukoFlow(),
        LightGBMQuantiles(),
        NeighboursMap(),
    ):
        start = time.process_time()
        model.fit(scores, attributes)
        took = time.process_time() - start
        found = []
        for efficiency in EFFICIENCIES:
            test_ = flatness_test(unseen >= model.threshold(efficiency, others), others, cells=100)
            found.append(f"{test_.chi2 / test_.degrees:.2f}")
        print(f"{type(model).__name__:22s} {' / '.join(found)}   fit {took:.0f} core s", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", ".*(outside the fitted|does not follow)")
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--jets", action="store_true")
    jets() if arguments.parse_args().jets else speed()
