"""What a report costs: seconds of one core, and the memory of the process, for more events.

Two attributes, weights, page and figures.

python benchmarks/report.py
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVENTS = (100_000, 1_000_000)


def measure(events):
    import numpy as np

    from unsculpt import SplineDecorrelator
    from unsculpt.datasets import toys
    from unsculpt.report import write_report

    train = toys.two_attributes(110_000, 0, seed=1)
    test = toys.two_attributes(events - events // 6, events // 6, seed=2)
    model = SplineDecorrelator().fit(train.score, train.protected)
    weight = np.random.default_rng(3).uniform(0.5, 2, len(test.score))
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(
            path,
            model,
            test.score,
            test.protected,
            test.label,
            sample_weight=weight,
            names=["mass [GeV]", "pt [GeV]"],
            figures=path.with_name("figures"),
        )
        size = path.stat().st_size
    return {
        "events": len(test.score),
        "seconds": time.process_time() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "page": size / 1e6,
    }


def main():
    print("| events | seconds of a core | peak memory | page |\n|---|---|---|---|")
    for events in EVENTS:
        command = [sys.executable, __file__, str(events)]
        row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(
            f"| {row['events']:,} | {row['seconds']:.0f} | {row['megabytes']:.0f} MB "
            f"| {row['page']:.1f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        main()
