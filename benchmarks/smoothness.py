"""Does a penalty on bending along the mass bring the flow closer to the ideal?

    python benchmarks/smoothness.py [--draws 6]

The default flow as it is and with a penalty of two strengths, fitted on few to many events of the
tagger toy; the same training draws for all strengths. Ratio to ideal as in sculpting.py, on one
test draw with its luck taken out. The error of a difference is that of the differences draw by
draw. The penalty lives here alone: it does not help, so the library does not have it.
"""

import argparse
import warnings
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from sculpting import BINS, TEST_BACKGROUND, TEST_SIGNAL, jsd

from unsculpt import FlowDecorrelator, metrics
from unsculpt.datasets import toys
from unsculpt.decorrelators.flow import ensemble as flows
from unsculpt.flows.spline_flow import PLACES

EVENTS, STRENGTHS = (2_000, 10_000, 50_000, 110_000), (0.0, 30.0, 100.0)
STEP, POINTS = 1 / 16, 32
likelihood = flows._negative_log_likelihood


def curvature(flow, features):
    """Squared second differences of the flow's parameters along the attribute, summed.

    The spline counts ten times the shift and widths: what it describes beyond them should change
    slowest.
    """

    def bend(point):
        (parameters,) = flow.conditioners
        second = parameters(point + STEP) - 2 * parameters(point) + parameters(point - STEP)
        return (second[:PLACES] ** 2).sum() + 10 * (second[PLACES:] ** 2).sum()

    return jnp.sum(jax.vmap(bend)(features))


def penalised(strength):
    """The loss with a penalty that acts as a prior: it weighs less, the more events there are."""

    def loss(flow, batch, weight, score):
        penalty = strength * curvature(flow, batch[1][:POINTS])
        return likelihood(flow, batch, weight, score) + penalty

    return loss


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
                loss = penalised(strength / events) if strength else likelihood
                with patch.object(flows, "_negative_log_likelihood", loss):
                    flow = FlowDecorrelator(seed=draw).fit(train.score, train.protected)
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
