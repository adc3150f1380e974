"""Large, small and cold: memory and time of 10 million events, 1,000 events, a new process.

python benchmarks/limits.py
"""

import json
import subprocess
import sys

MEASURE = """
import json, resource, time
start = time.perf_counter()
import numpy as np
import unsculpt as us
from unsculpt import metrics
from unsculpt.datasets import toys
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
"""

COLD = (
    MEASURE
    + """
toy = toys.smooth(10_000, 0)
us.FlowDecorrelator().fit(toy.score, toy.protected).transform(toy.score, toy.protected)
print(json.dumps({"seconds": time.perf_counter() - start}))
"""
)

FIT = (
    MEASURE
    + """
toy = toys.tagger(EVENTS, 0)
before, start = peak(), time.perf_counter()
flow = us.FlowDecorrelator().fit(toy.score, toy.protected)
print(json.dumps({"seconds": time.perf_counter() - start, "before": before, "peak": peak()}))
"""
)

TRANSFORM = (
    MEASURE
    + """
small = toys.tagger(20_000, 0)
flow = us.FlowDecorrelator(epochs=1).fit(small.score, small.protected)
rng = np.random.default_rng(0)
score, mass = rng.uniform(size=10_000_000), rng.uniform(60, 200, size=10_000_000)
flow.transform(score[:10], mass[:10])
held = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**30
start = time.perf_counter()
flow.transform(score, mass)
print(json.dumps({"seconds": time.perf_counter() - start, "beyond": peak() - held}))
"""
)

SMALL = (
    MEASURE
    + """
import warnings
warnings.simplefilter("ignore")
test = toys.tagger(200_000, 20_000, seed=99)
ratios = []
for seed in range(5):
    toy = toys.tagger(1_000, 0, seed=seed)
    flow = us.FlowDecorrelator(seed=seed).fit(toy.score, toy.protected)
    flat = flow.transform(test.score, test.protected)
    exact = test.cdf(test.score, test.protected)
    ratios.append([metrics.inverse_jsd(s, test.label, test.protected) for s in (test.score, flat)]
                  + [np.abs(flat - exact)[test.background].mean()])
print(json.dumps({"raw, flat, error": np.mean(ratios, axis=0).tolist()}))
"""
)


def run(code: str) -> dict:
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return json.loads(output.stdout.splitlines()[-1])


def main() -> None:
    print("cold process, 10,000 events: import, fit, transform:", run(COLD))
    print("1,000 events, mean of five fits, 1/JSD50 raw and flat, mean |flat - exact|:", run(SMALL))
    for events in (1_000_000, 10_000_000):
        print(f"fit of {events:,} events, GiB:", run(FIT.replace("EVENTS", str(events))))
    print("transform of 10 million, GiB beyond the input:", run(TRANSFORM))


if __name__ == "__main__":
    main()
