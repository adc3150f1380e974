"""Every method that decorrelates a score after training, on the same events in one run.

    python benchmarks/methods.py [toy] [jets]

R50, 1/JSD50 and its ratio to the ideal on the tagger toy (110,000 events to fit, four draws of
770,000 to test, the luck of the test draws taken out as in sculpting.py) and on the shipped jets
with the boosted trees of `unsculpt demo` (55,000 QCD jets to fit that the trees have not seen,
150,000 to test; there is no exact CDF, so the ratio is the plain one and fluctuates by 20%).
Fits are timed in seconds of processor time, compilation included, which other work on the machine
disturbs little; `transform` in events a second of it, after a first call.
"""

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sculpting import BINS, TEST_BACKGROUND, TEST_DRAWS, TEST_SIGNAL
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import load_jets, toys
from unsculpt.decorrelators import Decorrelator

EDGES = np.linspace(50, 300, BINS + 1)
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # score, label, mass


QUANTILES = tuple(np.linspace(0.01, 0.99, 99))
# Each is told the efficiency of the one before it: all that the neighbours flatten.
METHODS: dict[str, Callable[[float], Decorrelator]] = {
    "flow": lambda _: us.FlowDecorrelator(),
    "flow, the paper's recipe": lambda _: us.FlowDecorrelator.paper(),
    "splines": lambda _: us.SplineDecorrelator(),
    "99 quantiles, continuous": lambda _: us.QuantileDecorrelator(QUANTILES, continuous=True),
    "convex potential": lambda _: us.TransportDecorrelator(),
    "neighbours, at R50": lambda efficiency: us.KNNDecorrelator(efficiency),
    "DDT, along the mass": lambda _: us.DDTDecorrelator(),
}


def main() -> None:
    warnings.filterwarnings("ignore", ".*is outside the fitted")  # a few events past the last mass
    for name in sys.argv[1:] or ["toy", "jets"]:
        {"toy": on_toy, "jets": on_jets}[name]()


def on_toy() -> None:
    train = toys.tagger(110_000, 0, seed=0)
    draws = [toys.tagger(TEST_BACKGROUND, TEST_SIGNAL, seed=900 + i) for i in range(TEST_DRAWS)]
    tests = [(t.score, t.label, t.protected) for t in draws]
    exact = np.mean([jsd(t.cdf(t.score, t.protected), t.label, t.protected) for t in draws])
    compare("tagger toy", (train.score, train.label, train.protected), tests, exact)


def on_jets() -> None:
    train, test = load_jets("train"), load_jets("test")
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first
    trees = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):
        trees.fit(train.features[~aside], train.label[~aside])
        unseen, score = (
            trees.predict_proba(x)[:, 1] for x in (train.features[aside], test.features)
        )
    fit_on = unseen, train.label[aside], train.mass[aside]
    compare("jets", fit_on, [(score, test.label, test.mass)], None)


def compare(title: str, fit_on: Arrays, tests: list[Arrays], exact: float | None) -> None:
    score, _, mass = fit_on
    print(f"{title}: {len(score):,} events to fit")
    rejection = show("raw", [(s, *test) for test in tests for s in test[:1]], exact, "", "")
    for name, new in METHODS.items():
        start = time.process_time()
        fitted = new(1 / rejection).fit(score, mass)
        fit_seconds = time.process_time() - start
        fitted.transform(tests[0][0][:10], tests[0][2][:10])
        start = time.process_time()
        flat = [fitted.transform(s, m) for s, _, m in tests]
        rate = sum(map(len, flat)) / (time.process_time() - start)
        events = [(f, *test) for f, test in zip(flat, tests, strict=True)]
        rejection = show(name, events, exact, f"{fit_seconds:.2g}", f"{rate:.1e}")


def show(name: str, events: list, exact: float | None, fit: str, rate: str) -> float:
    """Print a row of the table; return R50."""
    rejection = np.mean([metrics.rejection(flat, label) for flat, _, label, _ in events])
    found = np.mean([jsd(flat, label, mass) for flat, _, label, mass in events])
    background = np.sum(events[0][2] == 0)
    n_pass = background / rejection
    ideal = (BINS - 1) / 8 * (1 / n_pass + 1 / (background - n_pass))
    ratio = ideal / (ideal + found - exact) if exact else ideal / found
    print(
        f"| {name} | {rejection:.1f} | {1 / found:,.0f} | {1 / ideal:,.0f} | {ratio:.3f} "
        f"| {fit} | {rate} |",
        flush=True,
    )
    return rejection


def jsd(score: np.ndarray, label: np.ndarray, mass: np.ndarray) -> float:
    return metrics.jsd(score, label, mass, bins=EDGES)


if __name__ == "__main__":
    main()
