"""Every method that decorrelates a score after training, on the same events in one run.

    python benchmarks/methods.py [toy] [jets] [--draws 3]

R50, 1/JSD50 and its ratio to the ideal on the tagger toy (draws of 110,000 events to fit, four of
770,000 to test, the luck of the test draws taken out as in sculpting.py; means over the draws, with
the error of the ratio) and on the shipped jets with the boosted trees of `unsculpt demo` (55,000
QCD jets to fit that the trees have not seen, 150,000 to test; there is no exact CDF, so the ratio
is the plain one and fluctuates by 20%). Fits are timed in seconds of processor time, compilation
included in the first draw, which other work on the machine disturbs little; `transform` in events
a second of it, after a first call.
"""

import argparse
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
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", nargs="*", default=["toy", "jets"])
    parser.add_argument("--draws", type=int, default=3, help="training draws of the toy")
    arguments = parser.parse_args()
    for name in arguments.samples:
        {"toy": lambda: on_toy(arguments.draws), "jets": on_jets}[name]()


def on_toy(training_draws: int) -> None:
    trains = [toys.tagger(110_000, 0, seed=i) for i in range(training_draws)]
    draws = [toys.tagger(TEST_BACKGROUND, TEST_SIGNAL, seed=900 + i) for i in range(TEST_DRAWS)]
    tests = [(t.score, t.label, t.protected) for t in draws]
    exact = np.mean([jsd(t.cdf(t.score, t.protected), t.label, t.protected) for t in draws])
    compare("tagger toy", [(t.score, t.protected) for t in trains], tests, exact)


def on_jets() -> None:
    train, test = load_jets("train"), load_jets("test")
    aside = np.arange(len(train)) < np.sum(train.label == 0) // 2  # QCD comes first
    trees = HistGradientBoostingClassifier(random_state=0)
    with threadpool_limits(1):
        trees.fit(train.features[~aside], train.label[~aside])
        unseen, score = (
            trees.predict_proba(x)[:, 1] for x in (train.features[aside], test.features)
        )
    compare("jets", [(unseen, train.mass[aside])], [(score, test.label, test.mass)])


def compare(
    title: str,
    trains: list[tuple[np.ndarray, np.ndarray]],
    tests: list[Arrays],
    exact: float | None = None,
) -> None:
    print(f"{title}: {len(trains)} x {len(trains[0][0]):,} events to fit")
    rejection = show("raw", [judge([score for score, _, _ in tests], tests, exact)])
    for name, new in METHODS.items():
        rows = []
        for score, mass in trains:
            start = time.process_time()
            fitted = new(1 / rejection).fit(score, mass)
            fit_seconds = time.process_time() - start
            fitted.transform(tests[0][0][:10], tests[0][2][:10])
            start = time.process_time()
            flat = [fitted.transform(s, m) for s, _, m in tests]
            rate = sum(map(len, flat)) / (time.process_time() - start)
            rows.append((*judge(flat, tests, exact), fit_seconds, rate))
        rejection = show(name, rows)


def judge(flat: list[np.ndarray], tests: list[Arrays], exact: float | None) -> tuple[float, ...]:
    """Return R50, 1/JSD50, its ideal and the ratio of the two, over all tests."""
    rejection = np.mean([metrics.rejection(f, t[1]) for f, t in zip(flat, tests, strict=True)])
    found = np.mean([jsd(f, *t[1:]) for f, t in zip(flat, tests, strict=True)])
    background = np.sum(tests[0][1] == 0)
    n_pass = background / rejection
    ideal = (BINS - 1) / 8 * (1 / n_pass + 1 / (background - n_pass))
    ratio = ideal / (ideal + found - exact) if exact else ideal / found
    return rejection, 1 / found, 1 / ideal, ratio


def show(name: str, rows: list[tuple[float, ...]]) -> float:
    """Print the means over the training draws as a row of the table; return R50."""
    rejection, found, ideal, ratio, *speed = np.mean(rows, axis=0)
    ratios = [row[3] for row in rows]
    error = f" ± {np.std(ratios, ddof=1) / len(rows) ** 0.5:.3f}" if len(rows) > 1 else ""
    fit, rate = (f"{speed[0]:.2g}", f"{speed[1]:.1e}") if speed else ("", "")
    print(
        f"| {name} | {rejection:.1f} | {found:,.0f} | {ideal:,.0f} | {ratio:.3f}{error} "
        f"| {fit} | {rate} |",
        flush=True,
    )
    return rejection


def jsd(score: np.ndarray, label: np.ndarray, mass: np.ndarray) -> float:
    return metrics.jsd(score, label, mass, bins=EDGES)


if __name__ == "__main__":
    main()
