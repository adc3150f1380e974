"""Does a prior against bending along the mass bring the flow closer to the ideal?

    python benchmarks/smoothness.py [--draws 6]

The default flow with no prior, the default one and one three times as strong, fitted on few to
many events of the tagger toy; the same training draws for all strengths. Ratio to ideal as in
sculpting.py, on one test draw with its luck taken out. The error of a difference is that of the
differences draw by draw.
"""

import argparse
import warnings

import numpy as np
from sculpting import BINS, TEST_BACKGROUND, TEST_SIGNAL, jsd

from unsculpt import FlowDecorrelator, metrics
from unsculpt.datasets import toys

EVENTS, STRENGTHS = (2_000, 10_000, 50_000, 110_000), (0.0, 30.0, 100.0)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--draws", type=int, default=6)
    draws = arguments.parse_args().draws
    warnings.filterwarnings("ignore", "protected is outside")

    test = toys.tagger(TEST_BACKGROUND, TEST_SIGNAL, seed=950)
    exact = test.cdf(test.score, test.protected)
    n_pass = TEST_BACKGROUND / metrics.rejection(exact, test.label)
    ideal = (BINS - 1) / 8 * (1 / n_pass + 1 / (TEST_BACKGROUND - n_pass))
    print(f"ideal 1/JSD50 {1 / ideal:,.0f}, exact CDF {1 / jsd(test, exact):,.0f}")
    for events in EVENTS:
        ratios = np.empty((draws, len(STRENGTHS)))
        for draw in range(draws):
            train = toys.tagger(events, 0, seed=200 + draw)
            for i, strength in enumerate(STRENGTHS):
                flow = FlowDecorrelator(smoothness=strength, seed=draw)
                flow.fit(train.score, train.protected)
                flat = flow.transform(test.score, test.protected)
                ratios[draw, i] = ideal / (ideal + jsd(test, flat) - jsd(test, exact))
        error = 1 / draws**0.5
        print(f"{events:,} events to fit, {draws} draws")
        for i, strength in enumerate(STRENGTHS):
            gain = ratios[:, i] - ratios[:, 0]
            print(
                f"  strength {strength:5g}: {ratios[:, i].mean():.3f} ± "
                f"{ratios[:, i].std(ddof=1) * error:.3f}, gain {gain.mean():+.3f} ± "
                f"{gain.std(ddof=1) * error:.3f}, better in {np.sum(gain > 0)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
