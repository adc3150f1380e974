"""The picture of the method, on the tagger toy: `python docs/figures/method.py`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logit

import unsculpt as us
from unsculpt.datasets import toys

OUTPUT = Path(__file__).parents[1] / "images" / "method.png"


def main() -> None:
    """Fit the toy and draw it before, between and after."""
    train, test = toys.tagger(100_000, 0, seed=1), toys.tagger(100_000, 0, seed=2)
    # The log odds spread what a probability crowds next to zero and one.
    flow = us.FlowDecorrelator().fit(logit(train.score), train.protected)
    inside = (test.protected > train.protected.min()) & (test.protected < train.protected.max())
    score, mass = logit(test.score[inside]), test.protected[inside]
    masses = np.linspace(55, 250, 200)
    reach = np.quantile(score, [0.003, 0.9995])

    figure, (before, curves, after) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    flat = flow.transform(score, mass)
    for axis, values, span in ((before, score, reach), (after, flat, (0, 1))):
        counts, x, y = np.histogram2d(mass, values, bins=(25, 30), range=((50, 250), span))
        share = counts / counts.sum(axis=1, keepdims=True)  # each column of mass by itself
        axis.pcolormesh(x, y, share.T, cmap="Blues", vmin=0)
    for efficiency, style in ((0.5, "-"), (0.1, "--"), (0.01, ":")):
        label = f"keeps {efficiency:.0%}"
        before.plot(masses, flow.threshold(efficiency, masses), style, color="C3", label=label)
        after.axhline(1 - efficiency, ls=style, color="C3", label=label)
    before.set(xlabel="mass [GeV]", ylabel="score (log odds)")
    before.set_title("1. background: the score knows the mass")
    after.set(xlabel="mass [GeV]", ylabel="new score", title="3. F as the new score: flat")
    before.legend(loc="lower left")

    at = np.linspace(*reach, 400)
    for value, colour in ((60, "C0"), (85, "C1"), (180, "C2")):
        level = flow.transform(at, np.full(len(at), value))
        curves.plot(at, level, color=colour, label=f"{value} GeV")
    curves.set(xlabel="score s", ylabel="F(s | mass)", title="2. its CDF at each mass, learned")
    curves.legend()
    figure.savefig(OUTPUT, dpi=110)


if __name__ == "__main__":
    main()
