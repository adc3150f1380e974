"""How close to ideal, and how fast? The spline beside the flow on the tagger toy.

    python benchmarks/spline.py [--events 110000] [--draws 3] [--first 0] [--no-flow]
    python benchmarks/spline.py --large

The ratio to ideal is that of sculpting.py, on its training and test draws; `--first` is the seed of
the first training draw, for draws that no recipe was chosen on. `--large` counts and fits ten
million events instead. Seconds of the clock, and in brackets of the processor, which other work on
the machine does not lengthen. The flow is fitted once before the clock runs: JAX compiles.
"""

import argparse
import time
import warnings

import numpy as np
from sculpting import BINS, TEST_BACKGROUND, TEST_DRAWS, TEST_SIGNAL, jsd

import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import toys


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=110_000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--no-flow", action="store_true")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", "protected is outside")  # a few events past the last mass
    if arguments.large:
        large()
    else:
        draws = range(arguments.first, arguments.first + arguments.draws)
        compare(arguments.events, draws, with_flow=not arguments.no_flow)


def compare(events: int, draws: range, *, with_flow: bool) -> None:
    tests = [toys.tagger(TEST_BACKGROUND, TEST_SIGNAL, seed=900 + i) for i in range(TEST_DRAWS)]
    exact = [t.cdf(t.score, t.protected) for t in tests]
    exact_jsd = np.mean([jsd(t, s) for t, s in zip(tests, exact, strict=True)])
    rejection = np.mean([metrics.rejection(s, t.label) for t, s in zip(tests, exact, strict=True)])
    n_pass = TEST_BACKGROUND / rejection
    ideal = (BINS - 1) / 8 * (1 / n_pass + 1 / (TEST_BACKGROUND - n_pass))

    methods = {"spline": us.SplineDecorrelator}
    if with_flow:
        methods["flow"] = us.FlowDecorrelator
    found = {name: [] for name in methods}
    for draw in draws:
        train = toys.tagger(events, 0, seed=draw)
        for name, method in methods.items():
            if name == "flow" and draw == draws[0]:
                method().fit(train.score, train.protected)
            fitting = Seconds()
            fitted = method().fit(train.score, train.protected)
            fitting.stop()
            fitted.transform(tests[0].score[:10], tests[0].protected[:10])
            applying = Seconds()
            flat = [fitted.transform(t.score, t.protected) for t in tests]
            applying.stop()
            excess = np.mean([jsd(t, s) for t, s in zip(tests, flat, strict=True)]) - exact_jsd
            ratio = ideal / (ideal + excess)
            found[name].append(ratio)
            print(
                f"draw {draw}, {name}: ratio to ideal {ratio:.3f}, fit {fitting}, "
                f"transform of {sum(map(len, flat)):,} {applying}",
                flush=True,
            )
    for name, ratios in found.items():
        error = np.std(ratios, ddof=1) / len(ratios) ** 0.5
        print(
            f"{name}, {events:,} events, {len(draws)} draws: ratio to ideal "
            f"{np.mean(ratios):.3f} ± {error:.3f}, of the mean excess "
            f"{1 / np.mean(1 / np.array(ratios)):.3f}"
        )


def large() -> None:
    toy = toys.tagger(10_000_000, 0)
    seconds = Seconds()
    whole = us.SplineDecorrelator().fit(toy.score, toy.protected)
    print("10 million events in one fit:", seconds.stop())
    seconds, parts = Seconds(), whole.empty()
    for rows in np.array_split(np.arange(10_000_000), 10):
        parts.partial_fit(toy.score[rows], toy.protected[rows])
    print("counted in ten chunks:", seconds.stop())
    others = [parts.empty() for _ in range(1_000)]
    seconds = Seconds()
    total = sum(others, start=parts)
    print("a thousand histograms added:", seconds.stop())
    seconds, few = Seconds(), (toy.score[:1000], toy.protected[:1000])
    flat = total.transform(*few)
    print("surface fitted:", seconds.stop())
    print("same as in one fit:", np.array_equal(flat, whole.transform(*few)))


class Seconds:
    def __init__(self) -> None:
        self.start = np.array([time.perf_counter(), time.process_time()])

    def stop(self) -> "Seconds":
        self.passed = np.array([time.perf_counter(), time.process_time()]) - self.start
        return self

    def __str__(self) -> str:
        return "{:.2f} s ({:.2f})".format(*self.passed)


if __name__ == "__main__":
    main()
